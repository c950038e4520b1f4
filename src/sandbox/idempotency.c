/* SPDX-License-Identifier: Apache-2.0 */

/*
 * idempotency - a hash table of keys, with a list by age for each domain
 *
 * Purpose:    find a create that was asked for before.
 * Process:    osbd.
 * Input from: clients, who choose the keys: where one lies in the table
 *             depends on a secret, so that nobody can make them collide.
 * Limits:     IDEM_DOMAIN_MAX, IDEM_NUM_MAX; 50 MiB with keys of full length.
 */

#include "sandbox/idempotency.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"

#define BUCKETS 32768u

struct idem_domain {
	struct idem_domain *next;
	struct idem_entry *oldest, *newest;
	unsigned int num;
	char name[DOMAIN_NAME_MAX + 1];
};

int idem_digest(const void *data, size_t len,
		uint8_t ret_digest[IDEM_DIGEST_LEN])
{
	unsigned int digest_len = 0;

	if (!EVP_Digest(data, len, ret_digest, &digest_len, EVP_sha256(), NULL))
		return -ENOMEM;
	return 0;
}

int idem_init(struct idem *idem)
{
	uint8_t digest[IDEM_DIGEST_LEN];

	memset(idem, 0, sizeof(*idem));
	if (getrandom(idem->seed, sizeof(idem->seed), 0) !=
	    (ssize_t)sizeof(idem->seed))
		return -EIO;
	/* What is configured for it on this host is of no use to us. */
	if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) ||
	    idem_digest("", 0, digest) < 0)
		return -ENOMEM;
	idem->bucket = calloc(BUCKETS, sizeof(struct idem_entry *));
	return idem->bucket ? 0 : -ENOMEM;
}

bool idem_key_ok(const char *in_key)
{
	size_t len = strlen(in_key);

	if (len == 0 || len > IDEM_KEY_MAX)
		return false;
	for (; *in_key; in_key++)
		if (*in_key <= ' ' || *in_key > '~')
			return false;
	return true;
}

/* Its number, or -ENOMEM. */
static int bucket_of(const struct idem *idem, const char *domain,
		     const char *key)
{
	char text[IDEM_SEED_LEN + DOMAIN_NAME_MAX + 1 + IDEM_KEY_MAX];
	size_t domain_len = strnlen(domain, DOMAIN_NAME_MAX);
	size_t key_len = strnlen(key, IDEM_KEY_MAX);
	uint8_t digest[IDEM_DIGEST_LEN];
	uint32_t hash;
	int r;

	memcpy(text, idem->seed, IDEM_SEED_LEN);
	memcpy(text + IDEM_SEED_LEN, domain, domain_len);
	text[IDEM_SEED_LEN + domain_len] = '\0';
	memcpy(text + IDEM_SEED_LEN + domain_len + 1, key, key_len);
	r = idem_digest(text, IDEM_SEED_LEN + domain_len + 1 + key_len, digest);
	if (r < 0)
		return r;
	memcpy(&hash, digest, sizeof(hash));
	return (int)(hash % BUCKETS);
}

static struct idem_domain *find_domain(const struct idem *idem,
				       const char *name)
{
	struct idem_domain *domain = idem->domains;

	while (domain && strcmp(domain->name, name) != 0)
		domain = domain->next;
	return domain;
}

static void forget_domain(struct idem *idem, struct idem_domain *domain)
{
	struct idem_domain **at = &idem->domains;

	while (*at != domain)
		at = &(*at)->next;
	*at = domain->next;
	free(domain);
}

/* The last one takes its domain along. */
static void forget(struct idem *idem, struct idem_entry *entry)
{
	struct idem_domain *domain = entry->domain;
	struct idem_entry **at = &idem->bucket[entry->bucket];

	while (*at != entry)
		at = &(*at)->next_in_bucket;
	*at = entry->next_in_bucket;
	if (entry->newer)
		entry->newer->older = entry->older;
	else
		domain->newest = entry->older;
	if (entry->older)
		entry->older->newer = entry->newer;
	else
		domain->oldest = entry->newer;
	free(entry);
	idem->num--;
	if (--domain->num == 0)
		forget_domain(idem, domain);
}

void idem_deinit(struct idem *idem)
{
	while (idem->domains) {
		struct idem_domain *domain = idem->domains;

		while (domain->oldest) {
			struct idem_entry *entry = domain->oldest;

			domain->oldest = entry->newer;
			free(entry);
		}
		idem->domains = domain->next;
		free(domain);
	}
	free(idem->bucket);
	memset(idem, 0, sizeof(*idem));
}

static struct idem_entry *find(struct idem *idem, const char *domain,
			       const char *key)
{
	int bucket = bucket_of(idem, domain, key);
	struct idem_entry *entry = bucket < 0 ? NULL : idem->bucket[bucket];

	while (entry && (strcmp(entry->key, key) != 0 ||
			 strcmp(entry->domain->name, domain) != 0))
		entry = entry->next_in_bucket;
	return entry;
}

const struct idem_entry *idem_find(struct idem *idem, const char *domain,
				   const char *key, int64_t now_us)
{
	struct idem_entry *entry = find(idem, domain, key);

	if (entry && now_us - entry->created_us >= IDEM_LIFE_US) {
		forget(idem, entry);
		return NULL;
	}
	return entry;
}

/* What is too old, then what is too much. */
static void make_room(struct idem *idem, const char *name, int64_t now_us)
{
	struct idem_domain *domain;
	struct idem_domain *most = idem->domains;

	while ((domain = find_domain(idem, name)) &&
	       (domain->num >= IDEM_DOMAIN_MAX ||
		now_us - domain->oldest->created_us >= IDEM_LIFE_US))
		forget(idem, domain->oldest);
	if (idem->num < IDEM_NUM_MAX)
		return;
	for (domain = idem->domains; domain; domain = domain->next)
		if (domain->num > most->num)
			most = domain;
	if (most)
		forget(idem, most->oldest);
}

static struct idem_domain *use_domain(struct idem *idem, const char *name)
{
	struct idem_domain *domain = find_domain(idem, name);

	if (domain)
		return domain;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	memcpy(domain->name, name, strnlen(name, DOMAIN_NAME_MAX));
	domain->next = idem->domains;
	idem->domains = domain;
	return domain;
}

int idem_add(struct idem *idem, const char *domain, const char *key,
	     const uint8_t digest[IDEM_DIGEST_LEN], const char *sandbox,
	     int64_t created_us)
{
	struct idem_entry *entry auto_free = NULL;
	int bucket = bucket_of(idem, domain, key);
	size_t size = strnlen(key, IDEM_KEY_MAX) + 1;

	make_room(idem, domain, created_us);
	entry = calloc(1, sizeof(*entry) + size);
	if (bucket < 0 || !entry)
		return -ENOMEM;
	memcpy(entry->key, key, size - 1);
	memcpy(entry->sandbox, sandbox, strnlen(sandbox, SANDBOX_ID_LEN));
	memcpy(entry->digest, digest, IDEM_DIGEST_LEN);
	entry->created_us = created_us;
	entry->domain = use_domain(idem, domain);
	if (!entry->domain)
		return -ENOMEM;
	entry->bucket = bucket;
	entry->next_in_bucket = idem->bucket[bucket];
	idem->bucket[bucket] = entry;
	entry->older = entry->domain->newest;
	if (entry->older)
		entry->older->newer = entry;
	else
		entry->domain->oldest = entry;
	entry->domain->newest = entry;
	entry->domain->num++;
	idem->num++;
	(void)take_ptr(entry);
	return 0;
}

void idem_drop(struct idem *idem, const char *domain, const char *key,
	       const char *sandbox)
{
	struct idem_entry *entry = find(idem, domain, key);

	if (entry && strcmp(entry->sandbox, sandbox) == 0)
		forget(idem, entry);
}
