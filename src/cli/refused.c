/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/refused.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/run_options.h"

#define API_PREFIX "resourceLimits."

/* The API's word at the start of a message, and our option for it. */
static const struct {
	const char *word;
	const char *option;
} words[] = {
	{ "memory", "--memory" },     { "cpu", "--cpus" },
	{ "pids", "--pids" },         { "disk", "--disk" },
	{ "inodes", "--inodes" },     { "nofile", "--nofile" },
	{ "shm", "--shm" },           { "image", "--image" },
	{ "user", "--user" },         { "cpuTime", "--cpu-time" },
	{ "output", "--output-max" }, { "osb.profile", "--profile" },
};

/* Behind "WORD 'VALUE': ", if the message begins so, else NULL. */
static const char *skip_value(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *end;

	if (strncmp(text, word, len) != 0 || strncmp(text + len, " '", 2) != 0)
		return NULL;
	end = strchr(text + len + 2, '\'');
	if (!end)
		return NULL;
	end += strspn(end, "': ");
	return *end ? end : NULL;
}

static bool refused_word(const struct run_options *options, const char *text)
{
	if (strncmp(text, API_PREFIX, strlen(API_PREFIX)) == 0)
		text += strlen(API_PREFIX);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *reason = skip_value(text, words[i].word);
		const char *value = run_options_value(options, words[i].option);

		if (!reason || !value)
			continue;
		(void)message("%s '%s': %s", words[i].option, value, reason);
		return true;
	}
	return false;
}

/* The server's words, without those that our option says already. */
static const char *skip_volume_words(const char *text)
{
	static const char *const prefixes[] = { "volume target ",
						"volume source ", "volume ",
						"volumes: " };
	const char *end;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) != 0)
			continue;
		text += strlen(prefixes[i]);
		end = strstr(text, "': ");
		return i == 0 && end ? end + 3 : text;
	}
	return text;
}

/* Which volume the server means: the one it quotes, or the only one. */
static bool refused_volume(const struct run_options *options,
			   const struct osb_error *err)
{
	if (!strstr(err->message, "volume") &&
	    strncmp(err->code, "VOLUME::", strlen("VOLUME::")) != 0)
		return false;
	for (size_t i = 0; i < options->num_volumes; i++) {
		const struct osb_volume *volume = &options->volumes[i];

		if (options->num_volumes > 1 &&
		    !strstr(err->message, volume->source) &&
		    !strstr(err->message, volume->target))
			continue;
		(void)message("--volume '%s:%s%s': %s", volume->source,
			      volume->target, volume->read_only ? ":ro" : "",
			      skip_volume_words(err->message));
		return true;
	}
	(void)message("--volume: %zu given: %s", options->num_volumes,
		      skip_volume_words(err->message));
	return true;
}

void refused(const struct run_options *options, const struct osb_error *err,
	     const char *doing)
{
	if (err->status >= 400 && err->status < 500 &&
	    (refused_word(options, err->message) ||
	     refused_volume(options, err)))
		return;
	(void)message("%s: %s", doing, err->message);
}
