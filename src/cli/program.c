/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/program.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/pump.h"
#include "cli/refused.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "osb/osb.h"

DEFINE_AUTO(struct osb_exec *, osb_exec_free);

/* What a person should know and can't see from the exit status alone. */
static void explain(const struct osb_verdict *verdict)
{
	const char *text =
		verdict->message[0] ? verdict->message : verdict->name;
	bool own_end = verdict->kind == OSB_EXITED ||
		       (verdict->kind == OSB_SIGNALED &&
			verdict->signal_number != SIGKILL);

	if (own_end && verdict->started) {
		if (verdict->truncated)
			(void)message("its output was cut after %" PRIu64
				      " bytes",
				      verdict->output_bytes);
		return;
	}
	/* The API's name for what is our --workdir. */
	if (!verdict->started && strncmp(text, "cwd '", 5) == 0)
		(void)message("--workdir %s", text + 4);
	else
		(void)message("%s", text);
}

int program_status(const struct osb_verdict *verdict)
{
	explain(verdict);
	switch (verdict->kind) {
	case OSB_EXITED:
	case OSB_PIDS_LIMIT:
	case OSB_DISK_FULL:
		return verdict->exit_code;
	case OSB_SIGNALED:
		return EXIT_SIGNAL_BASE + verdict->signal_number;
	case OSB_KILLED:
	case OSB_OOM:
	case OSB_OUTPUT_LIMIT:
		return EXIT_KILLED;
	case OSB_WALL_TIMEOUT:
	case OSB_CPU_TIMEOUT:
	case OSB_EXPIRED:
		return EXIT_TIMEOUT;
	case OSB_LOST:
		break;
	}
	return EXIT_OSB;
}

/* The program has ended and its output is through, or can't go anywhere. */
static int finish(const struct run_options *options,
		  const struct output *output,
		  const struct osb_verdict *verdict)
{
	int r = output->failed;

	if (r == 0 && options->json)
		r = report_print(verdict, output);
	if (r == -EPIPE) /* SIGPIPE is ignored, else it had ended us */
		return EXIT_PIPE;
	if (r < 0)
		return message("write %s: %s",
			       output->failed_stream == OSB_STDERR ? "stderr"
								   : "stdout",
			       strerrordesc_np(-r));
	if (options->json)
		return 0;
	return program_status(verdict);
}

static int run(struct osb_client *client, const char *id,
	       const struct run_options *options, const struct program_how *how,
	       struct output *output)
{
	struct osb_exec *exec auto_clean(osb_exec_freep) = NULL;
	const struct osb_exec_spec spec = {
		.argv = (const char *const *)options->program,
		.env = (const char *const *)options->env,
		.cwd = options->workdir,
		.user = options->user,
		.timeout_ms = options->timeout_ms,
		.limits = options->exec,
		.has_stdin = how->has_stdin,
		.bind = how->bind,
		.on_output = output_take,
		.ctx = output,
	};
	struct osb_error err;
	int signal_number = 0;
	int r;

	r = osb_exec_start(client, id, &spec, &exec, &err);
	if (r == 0)
		r = pump_run(exec, output, how->has_stdin, &signal_number,
			     &err);
	if (r == PUMP_E_SIGNAL)
		return EXIT_SIGNAL_BASE + signal_number;
	if (r < 0) {
		refused(options, &err, "run the program");
		return EXIT_OSB;
	}
	return finish(options, output, osb_exec_verdict(exec));
}

int program_run(struct osb_client *client, const char *id,
		const struct run_options *options,
		const struct program_how *how)
{
	struct output output;
	int status;

	output_init(&output, options->json);
	status = run(client, id, options, how, &output);
	output_deinit(&output);
	return status;
}
