/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/entrypoint.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/command.h"
#include "sandbox/sandbox.h"
#include "server/api/verdict.h"
#include "server/env.h"
#include "server/server.h"

struct entrypoint {
	struct sandbox *sandbox; /* a reference */
	void (*fn)(void *ctx);
	void *ctx;
};

static void tell(struct entrypoint *entrypoint, const char *what)
{
	if (what)
		server_log("sandbox %s: entrypoint: %s",
			   entrypoint->sandbox->id, what);
	entrypoint->fn(entrypoint->ctx);
	sandbox_unref(entrypoint->sandbox);
	free(entrypoint);
}

static void on_started(void *ctx)
{
	tell(ctx, NULL);
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	struct entrypoint *entrypoint = ctx;
	char text[VERDICT_TEXT_MAX];

	verdict_failed_text(stage, sys,
			    strv_first(&entrypoint->sandbox->spec.entrypoint),
			    ENV_WORKDIR, text);
	tell(entrypoint, text);
}

static void on_refused(void *ctx, const struct err *err)
{
	tell(ctx, err->msg);
}

void entrypoint_start(struct sandbox *sandbox, void (*fn)(void *ctx), void *ctx)
{
	static const struct command_ops ops = {
		.started = on_started,
		.failed = on_failed,
		.refused = on_refused,
	};
	struct entrypoint *entrypoint = calloc(1, sizeof(*entrypoint));
	struct strv env auto_clean(strv_deinit) = { 0 };
	const uint32_t uid = env_default_uid(&sandbox->spec);
	const struct command_spec spec = {
		.text = strv_first(&sandbox->spec.entrypoint),
		.argv = &sandbox->spec.entrypoint,
		.env = &env,
		.cwd = ENV_WORKDIR,
		.uid = uid,
		.gid = uid,
		.limits = sandbox->spec.exec,
		.background = true,
	};
	struct err err = ERR_NULL;
	struct command *command;

	if (!entrypoint) {
		fn(ctx);
		return;
	}
	entrypoint->sandbox = sandbox_ref(sandbox);
	entrypoint->fn = fn;
	entrypoint->ctx = ctx;
	if (env_init(&env, &sandbox->spec, uid, &err) < 0 ||
	    command_start(sandbox, &spec, &ops, entrypoint, &command, &err) < 0)
		tell(entrypoint, err.msg);
}
