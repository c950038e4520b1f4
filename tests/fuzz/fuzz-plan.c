/* SPDX-License-Identifier: Apache-2.0 */

/*
 * plan - a spec from osbd, as the broker checks it and makes a plan of it
 *
 * Input: lines that change a valid spec, each a letter and what follows:
 * i ID, d DOMAIN, m IMAGE, l INDEX NUMBER (a limit), v NUMBER (of volumes),
 * s TEXT and t TEXT (source and target of the next volume), f NUMBER (flags of
 * the next volume), F NUMBER (of the spec), x OFFSET BYTE (anything).
 */

#include "backend/native/native.h"
#include "fuzz.h"

static struct broker_create spec;
static struct broker_volume *volume; /* that s, t and f are about */

static const struct limits defaults = LIMITS_DEFAULTS;

static void reset_spec(void)
{
	memset(&spec, 0, sizeof(spec));
	spec.op = BROKER_CREATE;
	memset(spec.id, 'a', SANDBOX_ID_LEN);
	memcpy(spec.domain, "uid:0", 5);
	memcpy(spec.image, "host", 4);
	spec.limits = defaults;
	volume = spec.volumes;
}

/* All that fits: the NUL may be missing, or bytes may follow it. */
static void set_field(char *field, size_t size, const char *text)
{
	size_t len = strlen(text);

	memcpy(field, text, len < size ? len : size);
}

static void set_limit(const char *text)
{
	struct limits *limits = &spec.limits;
	char *end;
	unsigned long which = strtoul(text, &end, 10);
	uint64_t value = strtoull(end, NULL, 10);
	uint64_t *const wide[] = { &limits->memory_bytes, &limits->disk_bytes,
				   &limits->shm_bytes };
	uint32_t *const narrow[] = { &limits->inodes, &limits->cpu_milli,
				     &limits->pids, &limits->nofile };

	if (which < ARRAY_SIZE(wide))
		*wide[which] = value;
	else if (which - ARRAY_SIZE(wide) < ARRAY_SIZE(narrow))
		*narrow[which - ARRAY_SIZE(wide)] = (uint32_t)value;
}

static void poke(const char *text)
{
	char *end;
	size_t offset = strtoul(text, &end, 10) % sizeof(spec);

	((uint8_t *)&spec)[offset] = (uint8_t)strtoul(end, NULL, 10);
}

static void next_volume(void)
{
	if (volume < &spec.volumes[VOLUMES_MAX - 1])
		volume++;
}

static void change(const char *line)
{
	const char *text = *line ? line + 1 : line;
	uint32_t number = (uint32_t)strtoul(text, NULL, 10);

	switch (*line) {
	case 'i':
		set_field(spec.id, sizeof(spec.id), text);
		break;
	case 'd':
		set_field(spec.domain, sizeof(spec.domain), text);
		break;
	case 'm':
		set_field(spec.image, sizeof(spec.image), text);
		break;
	case 'l':
		set_limit(text);
		break;
	case 'v':
		spec.num_volumes = number;
		break;
	case 's':
		set_field(volume->source, sizeof(volume->source), text);
		break;
	case 't':
		set_field(volume->target, sizeof(volume->target), text);
		next_volume();
		break;
	case 'f':
		volume->flags = number;
		break;
	case 'F':
		spec.flags = number;
		break;
	case 'x':
		poke(text);
		break;
	default:
		break;
	}
}

static bool is_padded(const char *field, size_t size)
{
	size_t len = strnlen(field, size);

	for (size_t i = len; i < size; i++)
		if (field[i])
			return false;
	return len > 0 && len < size;
}

static void check_target(const char *path)
{
	static const char *const walls[] = { "/proc/", "/sys/", "/dev/",
					     "/usr/", "/etc/" };
	char text[VOLUME_PATH_MAX + 3];

	CHECK(path[0] == '/' && path[1]);
	(void)snprintf(text, sizeof(text), "%s/", path);
	CHECK(!strstr(text, "//"));
	CHECK(!strstr(text, "/../"));
	CHECK(!strstr(text, "/./"));
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++)
		CHECK(strncmp(text, walls[i], strlen(walls[i])) != 0);
}

static void check_accepted(void)
{
	const struct limits *limits = &spec.limits;

	CHECK(strspn(spec.id, "0123456789abcdef") == SANDBOX_ID_LEN);
	CHECK(is_padded(spec.id, sizeof(spec.id)));
	CHECK(is_padded(spec.domain, sizeof(spec.domain)));
	CHECK(is_padded(spec.image, sizeof(spec.image)));
	CHECK(spec.flags <= CREATE_FLAGS_ALL && spec.life_ms <= LIFE_MAX_MS &&
	      spec.num_volumes <= VOLUMES_MAX);
	CHECK(limits->memory_bytes >= LIMITS_MIN_MEMORY);
	CHECK(limits->memory_bytes <= LIMITS_MAX_BYTES);
	CHECK(limits->disk_bytes >= LIMITS_MIN_DISK);
	CHECK(limits->disk_bytes <= LIMITS_MAX_BYTES);
	CHECK(limits->shm_bytes >= LIMITS_MIN_SHM);
	CHECK(limits->shm_bytes <= LIMITS_MAX_BYTES);
	CHECK(limits->inodes >= LIMITS_MIN_INODES);
	CHECK(limits->inodes <= LIMITS_MAX_INODES);
	CHECK(limits->cpu_milli >= LIMITS_MIN_CPU_MILLI);
	CHECK(limits->cpu_milli <= LIMITS_MAX_CPU_MILLI);
	CHECK(limits->pids >= LIMITS_MIN_PIDS);
	CHECK(limits->pids <= LIMITS_MAX_PIDS);
	CHECK(limits->nofile >= LIMITS_MIN_NOFILE);
	CHECK(limits->nofile <= LIMITS_MAX_NOFILE);
	for (uint32_t i = 0; i < spec.num_volumes; i++) {
		const struct broker_volume *v = &spec.volumes[i];

		CHECK(is_padded(v->source, sizeof(v->source)));
		CHECK(is_padded(v->target, sizeof(v->target)));
		CHECK(v->source[0] == '/' && v->reserved == 0);
		CHECK((v->flags & ~(uint32_t)VOLUME_READ_ONLY) == 0);
		check_target(v->target);
	}
}

/* No spec can leave a wall out, or a limit. */
static void check_plan(unsigned int num_binds, unsigned int num_cpus,
		       bool unified)
{
	const struct plan_host host = { num_binds, num_cpus, unified };
	unsigned int num[PLAN_NUM_KINDS] = { 0 };
	static struct plan plan;

	plan_make(&spec, &host, &plan);
	CHECK(plan.num <= PLAN_OPS_MAX);
	CHECK(plan.ops[plan.num - 1].kind == PLAN_READY);
	for (unsigned int i = 0; i < plan.num; i++) {
		const struct plan_op *op = &plan.ops[i];

		if (op->kind == PLAN_VOLUME)
			CHECK(op->target ==
			      spec.volumes[num[PLAN_VOLUME]].target);
		if (op->kind == PLAN_SYS)
			CHECK(op->value >= 1 && op->value <= num_cpus);
		if (op->kind == PLAN_CGROUP_LIMIT)
			CHECK(op->file && (op->value > 0 || op->optional));
		num[op->kind]++;
	}
	CHECK(num[PLAN_VOLUME] == spec.num_volumes);
	CHECK(num[PLAN_BIND] == num_binds);
	CHECK(num[PLAN_CGROUP_LIMIT] == 7);
	CHECK(num[PLAN_CGROUP_CLONE] == 1);
	CHECK(num[PLAN_CGROUP_DELEGATE] == (unified ? 1 : 2));
	CHECK(num[PLAN_LAYER] == 1 && num[PLAN_ROOT] == 1);
	CHECK(num[PLAN_DEV] == 1 && num[PLAN_SYS] == 1 && num[PLAN_SHM] == 1);
	CHECK(num[PLAN_LAUNCH] == 1 && num[PLAN_LAUNCHED] == 1);
	CHECK(num[PLAN_SETUP] == 1 && num[PLAN_READY] == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	struct err err = { 0 };
	uint8_t host = fuzz_byte(&in);
	int r;

	reset_spec();
	while (in.len) {
		char *line auto_free = fuzz_line(&in);

		change(line);
	}
	r = plan_check_spec(&spec, &err);
	if (r < 0) {
		CHECK(err.kind != ERR_NONE && strlen(err.msg) > 0);
		return 0;
	}
	CHECK(r == 0);
	check_accepted();
	check_plan(host % (IMAGE_BINDS_MAX + 1), host % 64 + 1u, false);
	check_plan(host % (IMAGE_BINDS_MAX + 1), host % 64 + 1u, true);
	return 0;
}
