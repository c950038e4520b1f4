/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_file - files into and out of a sandbox
 *
 * Theory of operation. osbd never opens a sandbox's file: init runs a helper
 * inside (see wire/files_msg.h), and the content streams through its stdin or
 * stdout. An upload is a multipart body whose parts come in pairs, metadata
 * and file; one helper per file, one after the other. While a helper is busy
 * the body isn't read.
 *
 * Process:    osbd.
 * Input from: clients: hostile. The helper's output: hostile, for it runs
 *             among the sandbox's programs.
 * Ownership:  struct upload and struct download belong to their request; a
 *             run that outlives it is detached.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/url.h"
#include "http/write.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/api/file_reply.h"
#include "server/api/file_spec.h"
#include "server/api/multipart.h"
#include "server/api/range.h"
#include "server/conn.h"
#include "server/env.h"
#include "server/json.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"
#include "wire/files_msg.h"

#define METADATA_MAX 16384
#define STDIN_HIGH_WATER (256u * 1024)

struct helper {
	struct run *run; /* NULL: none runs */
	struct file_reply said;
};

/* The answer to the client when a helper failed or said nonsense. */
static void reply_helper_error(struct request *req, const struct helper *helper)
{
	enum err_kind kind = ERR_INTERNAL;
	const char *code = "RUNTIME_ERROR";

	if (!file_reply_complete(&helper->said)) {
		reply_error(req, 500, code, "the file helper ended early");
		return;
	}
	if (helper->said.msg.kind != ERR_NONE)
		kind = err_kind_from_wire(helper->said.msg.kind);
	if (kind == ERR_NOT_FOUND)
		code = "FILE_NOT_FOUND";
	else if (kind == ERR_INVALID)
		code = "INVALID_FILE";
	/* INTERNAL too: it is the sandbox's inside, not ours. */
	reply_error(req, (unsigned int)err_http_status(kind), code, "%s",
		    helper->said.msg.msg);
}

static void helper_started(void *ctx, int32_t pid)
{
	(void)ctx;
	(void)pid;
}

static int start_helper(struct request *req, struct sandbox *sandbox,
			const char *const *args, bool has_stdin,
			const struct run_ops *ops, struct helper *helper,
			struct err *err)
{
	struct strv argv auto_clean(strv_deinit) = { 0 };
	struct strv env auto_clean(strv_deinit) = { 0 };
	struct run_spec spec = {
		.argv = &argv,
		.env = &env,
		.cwd = "/",
		.uid = env_default_uid(&sandbox->spec),
		.gid = env_default_uid(&sandbox->spec),
		.has_stdin = has_stdin,
		.is_files = true,
	};
	int r = 0;

	strv_init(&argv, 16, 2 * FILE_PATH_MAX);
	strv_init(&env, 1, 64);
	for (; *args && r == 0; args++)
		r = strv_add(&argv, *args);
	if (r < 0)
		return err_set(err, ERR_INVALID, -r, "path");
	helper->said.have = 0;
	return run_start(req->server, sandbox, &spec, ops, req, &helper->run,
			 err);
}

static void drop_helper(struct helper *helper)
{
	struct run *run = take_ptr(helper->run);

	if (!run)
		return;
	run_kill(run, INIT_KILL_TREE, SIGKILL);
	run_detach(run);
}

/* --- Upload --------------------------------------------------------------- */

struct upload {
	struct sandbox *sandbox; /* a reference */
	struct multipart mp;
	bool mp_made;
	struct buf metadata;   /* the current metadata part */
	struct file_spec spec; /* of the next file */
	bool has_spec;
	bool in_metadata, in_file; /* which part we are in */
	bool waits;                /* for the helper's end: no event is taken */
	bool body_end;             /* the request has come to its end */
	unsigned int num_files;
	struct buf rest; /* body bytes that came while waiting */
	struct helper helper;
};

static void upload_free(struct upload *upload)
{
	if (!upload)
		return;
	drop_helper(&upload->helper);
	sandbox_unref(upload->sandbox);
	if (upload->mp_made)
		multipart_deinit(&upload->mp);
	buf_deinit(&upload->metadata);
	buf_deinit(&upload->rest);
	free(upload);
}

/* Answers and forgets; what comes of the body is thrown away. */
static void end_upload(struct request *req, const char *code,
		       const struct err *err)
{
	struct upload *upload = take_ptr(req->state);

	req->ops = NULL;
	if (code)
		reply_err(req, code, err);
	else
		reply_empty(req, 200);
	upload_free(upload);
}

static int take_metadata(struct upload *upload, struct err *err)
{
	int r = file_spec_read(buf_data(&upload->metadata),
			       buf_len(&upload->metadata),
			       &upload->sandbox->spec, &upload->spec, err);

	if (r == 0)
		upload->has_spec = true;
	return r;
}

static void upload_output(void *ctx, enum run_stream stream,
			  const uint8_t *data, size_t len)
{
	struct request *req = ctx;
	struct upload *upload = req->state;

	if (stream == RUN_STDOUT)
		(void)file_reply_take(&upload->helper.said, data, len);
}

static void upload_stdin_drained(void *ctx)
{
	struct request *req = ctx;
	struct upload *upload = req->state;

	if (!upload->waits)
		request_pause(req, false);
}

static void take_rest(struct request *req);

/* One file is written, or not. */
static void upload_done(void *ctx, const struct run_result *result)
{
	struct request *req auto_clean(request_unrefp) = request_ref(ctx);
	struct upload *upload = req->state;

	(void)result;
	upload->helper.run = NULL;
	if (!file_reply_complete(&upload->helper.said) ||
	    upload->helper.said.msg.kind != ERR_NONE || !upload->waits) {
		req->ops = NULL;
		req->state = NULL;
		reply_helper_error(req, &upload->helper);
		upload_free(upload);
		return;
	}
	upload->waits = false;
	upload->num_files++;
	take_rest(req);
}

static const struct run_ops upload_ops = {
	.started = helper_started,
	.output = upload_output,
	.stdin_drained = upload_stdin_drained,
	.done = upload_done,
};

static int start_put(struct request *req, struct upload *upload,
		     struct err *err)
{
	const char *const args[] = { "osb-files",
				     "put",
				     upload->spec.path,
				     upload->spec.mode,
				     upload->spec.uid,
				     upload->spec.gid,
				     NULL };

	if (!upload->has_spec)
		return err_set(err, ERR_INVALID, 0,
			       "a file without metadata before it");
	upload->has_spec = false;
	return start_helper(req, upload->sandbox, args, true, &upload_ops,
			    &upload->helper, err);
}

static int take_part(struct request *req, struct upload *upload,
		     struct err *err)
{
	if (strcmp(upload->mp.name, "metadata") == 0) {
		buf_reset(&upload->metadata);
		upload->in_metadata = true;
		return 0;
	}
	if (strcmp(upload->mp.name, "file") == 0) {
		upload->in_file = true;
		return start_put(req, upload, err);
	}
	return 0; /* other parts are skipped */
}

static int take_data(struct upload *upload, const struct multipart_event *ev,
		     struct err *err)
{
	if (upload->in_metadata) {
		buf_add(&upload->metadata, ev->data, ev->len);
		if (upload->metadata.failed)
			return err_set(err, ERR_INVALID, 0,
				       "metadata over %d bytes", METADATA_MAX);
	}
	if (!upload->in_file || !upload->helper.run)
		return 0;
	if (run_stdin(upload->helper.run, ev->data, ev->len) < 0)
		return err_set(err, ERR_INTERNAL, ENOBUFS, "upload");
	return 0;
}

static int take_part_end(struct upload *upload, struct err *err)
{
	bool was_metadata = upload->in_metadata;

	if (upload->in_file && upload->helper.run) {
		run_stdin_eof(upload->helper.run);
		upload->waits = true;
	}
	upload->in_metadata = false;
	upload->in_file = false;
	return was_metadata ? take_metadata(upload, err) : 0;
}

/* Return: 0, or 1 after answering. */
static int take_upload_event(struct request *req,
			     const struct multipart_event *ev)
{
	struct upload *upload = req->state;
	struct err err = ERR_NULL;
	int r = 0;

	if (ev->type == MULTIPART_PART)
		r = take_part(req, upload, &err);
	else if (ev->type == MULTIPART_DATA)
		r = take_data(upload, ev, &err);
	else if (ev->type == MULTIPART_PART_END)
		r = take_part_end(upload, &err);
	if (r == 0)
		return 0;
	end_upload(req,
		   err.kind == ERR_INVALID ? "INVALID_FILE_METADATA"
					   : "RUNTIME_ERROR",
		   &err);
	return 1;
}

/* Bytes up to where a helper must first come to its end. */
static size_t take_bytes(struct request *req, const uint8_t *data, size_t len)
{
	size_t used = 0;

	while (used < len) {
		struct upload *upload = req->state;
		struct multipart_event ev;
		struct err err = ERR_NULL;
		size_t n;

		if (!upload || upload->waits)
			break;
		if (multipart_next(&upload->mp, data + used, len - used, &n,
				   &ev, &err) < 0) {
			end_upload(req, "INVALID_FILE", &err);
			break;
		}
		used += n;
		if (take_upload_event(req, &ev) != 0)
			break;
	}
	return used;
}

/* The body is read while the helper keeps up and isn't waited for. */
static void pace_upload(struct request *req, const struct upload *upload)
{
	const struct run *run = upload->helper.run;

	request_pause(req, upload->waits || (run && run_stdin_waits(run) >
							    STDIN_HIGH_WATER));
}

static void finish_upload(struct request *req)
{
	struct upload *upload = req->state;
	struct err err = ERR_NULL;

	if (multipart_ended(&upload->mp) && upload->num_files) {
		end_upload(req, NULL, NULL);
		return;
	}
	(void)err_set(&err, ERR_INVALID, 0,
		      "the body ends before a file was complete");
	end_upload(req, "INVALID_FILE", &err);
}

static void take_rest(struct request *req)
{
	struct upload *upload = req->state;
	size_t used = take_bytes(req, buf_data(&upload->rest),
				 buf_len(&upload->rest));

	upload = req->state;
	if (!upload)
		return;
	buf_consume(&upload->rest, used);
	if (upload->waits)
		return;
	if (upload->body_end)
		finish_upload(req);
	else
		pace_upload(req, upload);
}

static void on_upload_body(struct request *req, const uint8_t *data, size_t len)
{
	size_t used = take_bytes(req, data, len);
	struct upload *upload = req->state;

	if (!upload)
		return;
	pace_upload(req, upload);
	if (used == len)
		return;
	buf_add(&upload->rest, data + used, len - used);
	if (upload->rest.failed)
		request_abort(req); /* no memory: we are paused otherwise */
}

static void on_upload_end(struct request *req)
{
	struct upload *upload = req->state;

	upload->body_end = true;
	if (!upload->waits)
		finish_upload(req);
}

static void on_upload_gone(struct request *req)
{
	upload_free(take_ptr(req->state));
}

void api_file_upload(struct request *req)
{
	static const struct request_ops ops = {
		.body = on_upload_body,
		.body_end = on_upload_end,
		.gone = on_upload_gone,
	};
	struct sandbox *sandbox = reply_sandbox(req);
	struct upload *upload;
	struct err err = ERR_NULL;

	if (!sandbox)
		return;
	upload = calloc(1, sizeof(*upload));
	if (!upload) {
		request_abort(req);
		return;
	}
	buf_init(&upload->metadata, METADATA_MAX);
	buf_init(&upload->rest, 2 * SERVER_READ_MAX);
	upload->sandbox = sandbox_ref(sandbox);
	req->ops = &ops;
	req->state = upload;
	upload->mp_made = true;
	if (multipart_init(&upload->mp,
			   http_head_get(req->head, "Content-Type"), &err) < 0)
		end_upload(req, "INVALID_FILE", &err);
}

/* --- Download ------------------------------------------------------------- */

struct download {
	struct sandbox *sandbox; /* a reference */
	char path[FILE_PATH_MAX];
	struct range range;
	bool probing; /* only to learn the size */
	uint64_t sent;
	struct helper helper;
};

static void download_free(struct download *download)
{
	if (!download)
		return;
	drop_helper(&download->helper);
	sandbox_unref(download->sandbox);
	free(download);
}

/* A name that any client can read, and the true one if that differs. */
static void put_disposition(struct buf *out, const char *path)
{
	struct buf value auto_clean(buf_deinit) = BUF_NULL;
	const char *name = strrchr(path, '/') + 1;
	bool plain = true;

	buf_init(&value, 4 * FILE_PATH_MAX);
	buf_adds(&value, "attachment; filename=\"");
	for (const char *p = name; *p; p++) {
		bool ok = *p >= ' ' && *p <= '~' && *p != '"' && *p != '\\';

		plain = plain && ok;
		buf_add(&value, ok ? p : "_", 1);
	}
	buf_adds(&value, "\"");
	if (!plain) {
		buf_adds(&value, "; filename*=UTF-8''");
		http_percent_encode(&value, name);
	}
	buf_add(&value, "", 1);
	if (!value.failed)
		http_put_field(out, "Content-Disposition",
			       (const char *)buf_data(&value));
}

/* The helper has found the file: now the client can be told. */
static void begin_download(struct request *req, struct download *download)
{
	const struct files_reply *reply = &download->helper.said.msg;
	const struct range *range = &download->range;
	bool partial = range->kind != RANGE_NONE;
	struct buf *out = reply_head(req, partial ? 206 : 200);
	char text[80];

	if (!out)
		return;
	http_put_field(out, "Content-Type", "application/octet-stream");
	http_put_number(out, "Content-Length", reply->length);
	http_put_field(out, "Accept-Ranges", "bytes");
	if (partial) {
		(void)snprintf(text, sizeof(text), "bytes %llu-%llu/%llu",
			       (unsigned long long)range->first,
			       (unsigned long long)(range->first +
						    reply->length - 1),
			       (unsigned long long)reply->size);
		http_put_field(out, "Content-Range", text);
	}
	put_disposition(out, download->path);
	reply_head_end(req, false);
}

static void download_output(void *ctx, enum run_stream stream,
			    const uint8_t *data, size_t len)
{
	struct request *req = ctx;
	struct download *download = req->state;
	struct helper *helper = &download->helper;
	uint64_t left;

	if (stream != RUN_STDOUT || download->probing) {
		if (stream == RUN_STDOUT)
			(void)file_reply_take(&helper->said, data, len);
		return;
	}
	if (helper->said.have < sizeof(helper->said.msg)) {
		size_t n = file_reply_take(&helper->said, data, len);

		data += n;
		len -= n;
		if (file_reply_complete(&helper->said) &&
		    file_reply_fits(&helper->said, &download->range))
			begin_download(req, download);
	}
	if (!req->replied || len == 0)
		return;
	/* Never more than promised, whatever the helper says. */
	left = helper->said.msg.length - download->sent;
	if (len > left)
		len = (size_t)left;
	download->sent += len;
	reply_piece(req, data, len);
	if (request_full(req))
		run_pause(helper->run, true);
}

static void download_done(void *ctx, const struct run_result *result);

static const struct run_ops download_ops = {
	.started = helper_started,
	.output = download_output,
	.done = download_done,
};

static int start_get(struct request *req, struct download *download,
		     struct err *err)
{
	char offset[24], length[24];
	const char *const args[] = { "osb-files", "get",  download->path,
				     offset,      length, NULL };
	const struct range *range = &download->range;

	(void)snprintf(offset, sizeof(offset), "%llu",
		       (unsigned long long)range->first);
	(void)snprintf(length, sizeof(length), "%llu",
		       (unsigned long long)range->length);
	if (range->length > INT64_MAX)
		memcpy(length, "-", 2);
	if (download->probing)
		memcpy(length, "0", 2);
	return start_helper(req, download->sandbox, args, false, &download_ops,
			    &download->helper, err);
}

static void end_download(struct request *req)
{
	struct download *download = take_ptr(req->state);

	req->ops = NULL;
	download_free(download);
}

static void reply_no_range(struct request *req, const struct download *download)
{
	reply_error(req, 416, "UNKNOWN",
		    "the range isn't within the file's %llu bytes",
		    (unsigned long long)download->helper.said.msg.size);
}

/* The size is known: "the last n bytes" become "from byte m". */
static void go_on_after_probe(struct request *req, struct download *download)
{
	uint64_t size = download->helper.said.msg.size;
	struct err err = ERR_NULL;

	if (download->range.length > size)
		download->range.length = size;
	download->range.first = size - download->range.length;
	download->probing = false;
	if (start_get(req, download, &err) == 0)
		return;
	reply_err(req, "RUNTIME_ERROR", &err);
	end_download(req);
}

static void download_done(void *ctx, const struct run_result *result)
{
	struct request *req auto_clean(request_unrefp) = request_ref(ctx);
	struct download *download = req->state;
	struct helper *helper = &download->helper;
	bool ok = file_reply_complete(&helper->said) &&
		  helper->said.msg.kind == ERR_NONE;

	(void)result;
	helper->run = NULL;
	if (ok && download->probing && helper->said.msg.size) {
		go_on_after_probe(req, download);
		return;
	}
	if (req->replied && download->sent == helper->said.msg.length)
		reply_end(req);
	else if (req->replied) /* cut: the client must notice */
		request_abort(req);
	else if (ok && download->range.kind != RANGE_NONE)
		reply_no_range(req, download);
	else
		reply_helper_error(req, helper);
	if (req->state)
		end_download(req);
}

static void on_download_drained(struct request *req)
{
	struct download *download = req->state;

	if (download->helper.run)
		run_pause(download->helper.run, false);
}

static void on_download_gone(struct request *req)
{
	download_free(take_ptr(req->state));
}

/* The query's path, as the sandbox's root would see it. */
static int read_download(struct request *req, struct download *download,
			 struct err *err)
{
	struct strv env auto_clean(strv_deinit) = { 0 };
	char path[FILE_PATH_MAX], verbatim[8];
	int r;

	r = http_query_get(req->head->query, "path", path, sizeof(path));
	if (r < 0 || path[0] == '\0')
		return err_set(err, ERR_INVALID, 0,
			       "path is missing or malformed");
	r = http_query_get(req->head->query, "verbatim", verbatim,
			   sizeof(verbatim));
	if (r == 0 && strcmp(verbatim, "true") == 0)
		return file_spec_path(path, download->path,
				      sizeof(download->path), err);
	r = env_init(&env, &download->sandbox->spec,
		     env_default_uid(&download->sandbox->spec), err);
	if (r < 0)
		return r;
	return env_path(&env, path, download->path, sizeof(download->path),
			err);
}

void api_file_download(struct request *req)
{
	static const struct request_ops ops = {
		.drained = on_download_drained,
		.gone = on_download_gone,
	};
	const char *in_range = http_head_get(req->head, "Range");
	struct sandbox *sandbox = reply_sandbox(req);
	struct download *download;
	struct err err = ERR_NULL;

	if (!sandbox)
		return;
	download = calloc(1, sizeof(*download));
	if (!download) {
		request_abort(req);
		return;
	}
	download->sandbox = sandbox_ref(sandbox);
	download->range.length = UINT64_MAX;
	req->ops = &ops;
	req->state = download;
	if (in_range && range_parse(in_range, &download->range) < 0) {
		reply_error(req, 416, "UNKNOWN", "malformed Range");
		end_download(req);
		return;
	}
	download->probing = download->range.kind == RANGE_LAST;
	if (read_download(req, download, &err) == 0 &&
	    start_get(req, download, &err) == 0)
		return;
	reply_err(req,
		  err.kind == ERR_INVALID ? "MISSING_QUERY" : "RUNTIME_ERROR",
		  &err);
	end_download(req);
}
