/* SPDX-License-Identifier: Apache-2.0 */

/*
 * account - a bounded table of domains
 *
 * Purpose:    count what domains have, so that one can't take all.
 * Process:    osbd.
 * Limits:     ACCOUNTS_MAX. To make room for another, the one is forgotten
 *             that has no sandbox and was used longest ago: all that it loses
 *             is that its rates begin anew. One without a sandbox there
 *             always is, as SANDBOXES_MAX is less.
 */

/*
 * #syscalls  sysinfo
 */

#include "sandbox/account.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/err.h"
#include "base/units.h"

#define RESERVE_MIN (256ull << 20)
#define NS_PER_S 1000000000ull

void accounts_init(struct accounts *accounts,
		   const struct account_limits *limits)
{
	memset(accounts, 0, sizeof(*accounts));
	accounts->limits = *limits;
}

/* Names of domains are ours: a uid, or a word of the key file. */
static unsigned int bucket_of(const char *domain)
{
	unsigned int hash = 2166136261u;

	for (; *domain; domain++)
		hash = (hash ^ (unsigned char)*domain) * 16777619u;
	return hash % ACCOUNT_BUCKETS;
}

static struct account *find(const struct accounts *accounts, const char *domain)
{
	struct account *account = accounts->bucket[bucket_of(domain)];

	while (account && strcmp(account->domain, domain) != 0)
		account = account->next_in_bucket;
	return account;
}

const struct account *account_find(const struct accounts *accounts,
				   const char *domain)
{
	return find(accounts, domain);
}

static void unlink_from_order(struct accounts *accounts,
			      struct account *account)
{
	if (account->newer)
		account->newer->older = account->older;
	else
		accounts->newest = account->older;
	if (account->older)
		account->older->newer = account->newer;
	else
		accounts->oldest = account->newer;
}

static void link_as_newest(struct accounts *accounts, struct account *account)
{
	account->newer = NULL;
	account->older = accounts->newest;
	if (accounts->newest)
		accounts->newest->newer = account;
	else
		accounts->oldest = account;
	accounts->newest = account;
}

static void forget(struct accounts *accounts, struct account *account)
{
	struct account **at = &accounts->bucket[bucket_of(account->domain)];

	while (*at && *at != account)
		at = &(*at)->next_in_bucket;
	assert(*at == account);
	*at = account->next_in_bucket;
	unlink_from_order(accounts, account);
	accounts->num--;
	free(account);
}

void accounts_deinit(struct accounts *accounts)
{
	while (accounts->oldest)
		forget(accounts, accounts->oldest);
}

static void make_room(struct accounts *accounts)
{
	struct account *account = accounts->oldest;

	if (accounts->num < ACCOUNTS_MAX)
		return;
	while (account && account->num_sandboxes)
		account = account->newer;
	if (account)
		forget(accounts, account);
}

/* Found or made, and the newest now. NULL: no memory. */
static struct account *use(struct accounts *accounts, const char *domain)
{
	struct account *account = find(accounts, domain);
	unsigned int bucket = bucket_of(domain);

	if (account) {
		unlink_from_order(accounts, account);
		link_as_newest(accounts, account);
		return account;
	}
	make_room(accounts);
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	memcpy(account->domain, domain, strnlen(domain, DOMAIN_NAME_MAX));
	account->next_in_bucket = accounts->bucket[bucket];
	accounts->bucket[bucket] = account;
	link_as_newest(accounts, account);
	accounts->num++;
	return account;
}

static int refuse_memory(const char *who, uint64_t max, uint64_t have,
			 uint64_t want, struct err *err)
{
	char text[3][UNITS_TEXT_MAX];

	units_format_size(max, text[0]);
	units_format_size(have, text[1]);
	units_format_size(want, text[2]);
	return err_set(err, ERR_QUOTA, 0,
		       "guarantee '%s': %s has %s of memory to guarantee, of "
		       "which %s are taken",
		       text[2], who, text[0], text[1]);
}

int account_check_room(const struct accounts *accounts, const char *domain,
		       uint64_t guarantee, struct err *err)
{
	static const struct account nothing = { 0 };
	const struct account_limits *limits = &accounts->limits;
	const struct account *account = find(accounts, domain);

	if (!account)
		account = &nothing;
	if (account->num_sandboxes >= limits->max_sandboxes)
		return err_set(err, ERR_QUOTA, 0,
			       "no more than %" PRIu64
			       " sandboxes at once for a caller",
			       limits->max_sandboxes);
	if (guarantee > limits->max_guarantee ||
	    account->guarantee_bytes > limits->max_guarantee - guarantee)
		return refuse_memory("a caller", limits->max_guarantee,
				     account->guarantee_bytes, guarantee, err);
	if (guarantee > limits->memory_bytes ||
	    accounts->guarantee_bytes > limits->memory_bytes - guarantee)
		return refuse_memory("the host", limits->memory_bytes,
				     accounts->guarantee_bytes, guarantee, err);
	return 0;
}

int account_charge(struct accounts *accounts, const char *domain,
		   uint64_t guarantee)
{
	struct account *account = use(accounts, domain);

	if (!account)
		return -ENOMEM;
	accounts->guarantee_bytes += guarantee;
	account->guarantee_bytes += guarantee;
	account->num_sandboxes++;
	return 0;
}

void account_release(struct accounts *accounts, const char *domain,
		     uint64_t guarantee)
{
	struct account *account = find(accounts, domain);

	assert(account && account->num_sandboxes > 0);
	accounts->guarantee_bytes -= guarantee;
	account->guarantee_bytes -= guarantee;
	account->num_sandboxes--;
}

/* A bucket is known by when it will be full: so nothing has to fill it. */
static bool take_token(uint64_t *full_ns, uint64_t rate, uint64_t burst,
		       uint64_t now_ms, unsigned int *ret_wait_s)
{
	uint64_t now_ns = now_ms * 1000000;
	uint64_t token_ns = NS_PER_S / rate;
	uint64_t taken_ns = *full_ns > now_ns ? *full_ns - now_ns : 0;
	uint64_t room_ns = (burst - 1) * token_ns;

	if (taken_ns > room_ns) {
		*ret_wait_s =
			(unsigned int)((taken_ns - room_ns + NS_PER_S - 1) /
				       NS_PER_S);
		return false;
	}
	*full_ns = now_ns + taken_ns + token_ns;
	return true;
}

bool account_may_create(struct accounts *accounts, const char *domain,
			uint64_t now_ms, unsigned int *ret_wait_s)
{
	const struct account_limits *limits = &accounts->limits;
	struct account *account;

	if (limits->create_rate == 0)
		return true;
	account = use(accounts, domain);
	return !account ||
	       take_token(&account->creates_full_ns, limits->create_rate,
			  limits->create_burst, now_ms, ret_wait_s);
}

bool account_may_request(struct accounts *accounts, const char *domain,
			 uint64_t now_ms, unsigned int *ret_wait_s)
{
	const struct account_limits *limits = &accounts->limits;
	struct account *account;

	if (limits->request_rate == 0)
		return true;
	account = use(accounts, domain);
	return !account ||
	       take_token(&account->requests_full_ns, limits->request_rate,
			  2 * limits->request_rate, now_ms, ret_wait_s);
}

int account_host_memory(uint64_t reserve, uint64_t *ret_bytes, struct err *err)
{
	char have[UNITS_TEXT_MAX], want[UNITS_TEXT_MAX];
	struct sysinfo info;
	uint64_t total;

	if (sysinfo(&info) < 0)
		return err_set(err, ERR_INTERNAL, errno,
			       "ask for the host's memory");
	total = (uint64_t)info.totalram * info.mem_unit;
	if (reserve == 0) {
		reserve = total / 10 > RESERVE_MIN ? total / 10 : RESERVE_MIN;
		/* A host as small as that: half is better than none. */
		if (reserve > total / 2)
			reserve = total / 2;
	}
	if (reserve >= total) {
		units_format_size(total, have);
		units_format_size(reserve, want);
		return err_set(err, ERR_INVALID, 0,
			       "memory_reserve = %s: the host has %s", want,
			       have);
	}
	*ret_bytes = total - reserve;
	return 0;
}
