/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/report.h"

#include <errno.h>

#include "base/utf8.h"
#include "cli/jsonout.h"
#include "cli/output.h"
#include "osb/osb.h"

/* Both streams in one encoding, so that a reader needs one rule. */
static void put_streams(struct jsonout *out, const struct output *output,
			bool truncated)
{
	static const char *const keys[] = { "stdout", "stderr" };
	bool utf8 = true;
	size_t len[2];

	for (size_t i = 0; i < 2; i++) {
		const struct buf *kept = &output->kept[i];

		/* Of a character that we cut, text has nothing. */
		len[i] = truncated ? utf8_whole(buf_data(kept), buf_len(kept))
				   : buf_len(kept);
		utf8 = utf8 && jsonout_is_utf8(buf_data(kept), len[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct buf *kept = &output->kept[i];

		jsonout_key(out, keys[i]);
		if (utf8)
			jsonout_bytes(out, buf_data(kept), len[i]);
		else
			jsonout_base64(out, buf_data(kept), buf_len(kept));
	}
	jsonout_key(out, "encoding");
	jsonout_string(out, utf8 ? "utf-8" : "base64");
}

void report_put_ending(struct jsonout *out, const struct osb_verdict *verdict)
{
	jsonout_key(out, "verdict");
	jsonout_string(out, verdict->name);
	if (verdict->contest[0]) {
		jsonout_key(out, "contest");
		jsonout_string(out, verdict->contest);
	}
	jsonout_key(out, "exit_code");
	if (verdict->exit_code >= 0)
		jsonout_u64(out, (uint64_t)verdict->exit_code);
	else
		jsonout_null(out);
	jsonout_key(out, "signal");
	if (verdict->signal[0])
		jsonout_string(out, verdict->signal);
	else
		jsonout_null(out);
}

static void put_usage(struct jsonout *out, const struct osb_verdict *verdict)
{
	jsonout_key(out, "wall_ms");
	jsonout_u64(out, verdict->wall_ms);
	jsonout_key(out, "cpu_ms");
	jsonout_u64(out, verdict->cpu_ms);
	jsonout_key(out, "peak_memory_bytes");
	jsonout_u64(out, verdict->peak_memory_bytes);
	jsonout_key(out, "peak_pids");
	jsonout_u64(out, verdict->peak_pids);
	jsonout_key(out, "output_bytes");
	jsonout_u64(out, verdict->output_bytes);
}

static void put_lists(struct jsonout *out, const struct osb_verdict *verdict)
{
	jsonout_key(out, "left_running");
	jsonout_open(out, '[');
	for (size_t i = 0; i < verdict->num_left; i++) {
		jsonout_open(out, '{');
		jsonout_key(out, "pid");
		jsonout_u64(out, (uint64_t)verdict->left[i].pid);
		jsonout_key(out, "name");
		jsonout_string(out, verdict->left[i].name);
		jsonout_close(out, '}');
	}
	jsonout_close(out, ']');
	jsonout_key(out, "limits_hit");
	jsonout_open(out, '[');
	for (size_t i = 0; i < verdict->num_limits_hit; i++)
		jsonout_string(out, verdict->limits_hit[i]);
	jsonout_close(out, ']');
}

int report_print(const struct osb_verdict *verdict, const struct output *output)
{
	struct jsonout out = { .stream = stdout };
	bool truncated = verdict->truncated || output->truncated;

	jsonout_open(&out, '{');
	put_streams(&out, output, truncated);
	report_put_ending(&out, verdict);
	put_usage(&out, verdict);
	jsonout_key(&out, "truncated");
	jsonout_bool(&out, truncated);
	put_lists(&out, verdict);
	jsonout_key(&out, "message");
	jsonout_string(&out, verdict->message);
	jsonout_close(&out, '}');
	(void)fputc('\n', stdout);
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout))
		return errno ? -errno : -EIO;
	return 0;
}
