/* SPDX-License-Identifier: Apache-2.0 */

/*
 * conf - the files of whoever runs the daemons: API keys, broker.conf, osbd.conf
 *
 * Input: a letter, then the file. k: keys. o: osbd.conf. b: broker.conf.
 */

#include <sys/mman.h>

#include "broker/broker.h"
#include "fuzz.h"
#include "server/auth.h"
#include "server/settings.h"

/* The broker has to take the domain that a key stands for. */
static bool is_domain(const char *name)
{
	return strlen(name) <= DOMAIN_NAME_MAX &&
	       strncmp(name, "key:", 4) == 0 && name[4] &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")] ==
		       '\0';
}

/* In an accepted file every line's key is found, and no part of it. */
static void check_keys(const struct keys *keys, struct fuzz in)
{
	while (in.len) {
		char *line auto_free = fuzz_line(&in);
		size_t len = strlen(line);
		const char *colon = strchr(line, ':');
		const char *secret = colon ? colon + 1 : line;
		const char *domain;

		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		domain = keys_find(keys, secret);
		CHECK(domain && is_domain(domain));
	}
	CHECK(!keys_find(keys, ""));
}

static void read_keys(struct fuzz *in)
{
	struct keys keys = { .key = NULL };
	struct err err = ERR_NULL;
	struct fuzz copy = *in;
	size_t len;
	char *text auto_free = fuzz_take(in, in->len, &len);

	if (keys_parse(text, len, &keys, &err) < 0) {
		CHECK(err.kind == ERR_INVALID && !keys.key);
		return;
	}
	CHECK(keys.num > 0 && keys.num <= KEYS_MAX);
	check_keys(&keys, copy);
	keys_deinit(&keys);
}

static void check_config(const struct native_config *config)
{
	const uint64_t ids = (uint64_t)config->num_blocks * DOMAIN_IDS;

	CHECK(config->id_base > 0 && config->id_base % SLOT_IDS == 0);
	CHECK(config->num_blocks > 0);
	CHECK(config->num_blocks <= NATIVE_BLOCKS_MAX);
	CHECK(config->id_base + ids <= 1ull << 31);
	CHECK(config->osbd_uid > 0 && config->osbd_uid <= INT32_MAX);
	CHECK(config->cgroup_parent[0] && config->cgroup_parent[0] != '.');
	CHECK(!strchr(config->cgroup_parent, '/'));
	CHECK(config->num_runtimes <= NATIVE_RUNTIMES_MAX);
	for (unsigned int i = 0; i < config->num_runtimes; i++)
		CHECK(config->runtimes[i][0] == '/');
	CHECK(config->num_roots <= NATIVE_ROOTS_MAX);
	for (unsigned int i = 0; i < config->num_roots; i++)
		CHECK(config->roots[i][0] == '/');
}

static void read_config(struct fuzz *in)
{
	static struct native_config defaults, config; /* 100 kB each */
	struct err err = ERR_NULL;
	int fd auto_fd = memfd_create("broker.conf", MFD_CLOEXEC);
	char path[32];
	int r;

	if (!defaults.id_base)
		config_defaults(&defaults);
	config = defaults;
	CHECK(fd >= 0 && write(fd, in->p, in->len) == (ssize_t)in->len);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = config_load(&config, path, false, &err);
	if (r == 0)
		check_config(&config);
	else
		CHECK(r < 0 && err.kind == ERR_INVALID && err.msg[0]);
}

static bool within(uint64_t value, uint64_t min, uint64_t max)
{
	return value >= min && value <= max;
}

static void read_settings(struct fuzz *in)
{
	static const char again[] = "\n[osbd]\nmax_body = 1Mi\n";
	struct settings settings = { 0 }, second = { 0 };
	struct err err = ERR_NULL;
	size_t len;
	char *text auto_free = fuzz_take(in, in->len, &len);
	char *longer auto_free = malloc(len + sizeof(again));
	int r = settings_parse(text, len, "osbd.conf", &settings, &err);

	CHECK(longer);
	if (r < 0) {
		CHECK(err.kind == ERR_INVALID);
		CHECK(strncmp(err.msg, "osbd.conf: line ", 16) == 0);
		CHECK(settings.max_body == 0); /* untouched */
		return;
	}
	CHECK(within(settings.max_sandboxes, 1, 2048));
	CHECK(within(settings.max_connections, 1, SETTINGS_CONNS_MAX));
	CHECK(within(settings.max_body, 1024, SETTINGS_BODY_MAX));
	CHECK(within(settings.head_timeout_ms, 1000, 600 * 1000));
	CHECK(within(settings.body_timeout_ms, 1000, 600 * 1000));
	CHECK(within(settings.idle_timeout_ms, 1000, 86400 * 1000));
	CHECK(within(settings.drain_timeout_ms, 100, 4000));
	CHECK(within(settings.log, 0, 1) && within(settings.access_log, 0, 1));
	CHECK(settings.num_origins <= SETTINGS_ORIGINS_MAX);
	for (size_t i = 0; i < settings.num_origins; i++)
		CHECK(strncmp(settings.origin[i], "http", 4) == 0);
	/* A line more changes its own key only, or is one too many. */
	memcpy(longer, text, len);
	memcpy(longer + len, again, sizeof(again));
	r = settings_parse(longer, len + strlen(again), "", &second, NULL);
	CHECK(r == 0 ? second.max_body == 1024 * 1024 : second.max_body == 0);
	if (r == 0)
		settings.max_body = second.max_body;
	CHECK(r < 0 || memcmp(&settings, &second, sizeof(second)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };

	switch (fuzz_byte(&in)) {
	case 'k':
		read_keys(&in);
		break;
	case 'o':
		read_settings(&in);
		break;
	default:
		read_config(&in);
	}
	return 0;
}
