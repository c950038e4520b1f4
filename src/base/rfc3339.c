/* SPDX-License-Identifier: Apache-2.0 */

#include "base/rfc3339.h"

#include <errno.h>
#include <stdbool.h>

#define FRACTION_MAX 9 /* digits: nanoseconds */

/* All of these move *at only over what they took. */
static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* Exactly @digits of them, making a number from @min to @max. */
static bool number(const char **at, int digits, int min, int max, int *ret)
{
	const char *text = *at;
	int value = 0;

	for (int i = 0; i < digits; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (text[i] - '0');
	}
	if (value < min || value > max)
		return false;
	*at += digits;
	*ret = value;
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30,
				    31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01; years begin in March here, so February's length is
   of no matter. */
static int64_t day_number(int year, int month, int day)
{
	int64_t years = year - (month <= 2);
	int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

	return years * 365 + years / 4 - years / 100 + years / 400 +
	       day_of_year - 719468;
}

static bool read_date(const char **at, int64_t *ret_days)
{
	int year, month, day;

	if (!number(at, 4, 1, 9999, &year) || !take(at, '-') ||
	    !number(at, 2, 1, 12, &month) || !take(at, '-') ||
	    !number(at, 2, 1, days_of(year, month), &day))
		return false;
	*ret_days = day_number(year, month, day);
	return true;
}

static bool read_fraction(const char **at, int64_t *ret_us)
{
	int64_t unit = 100000;
	int64_t us = 0;
	int digits = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++, digits++) {
		us += (**at - '0') * unit;
		unit /= 10;
	}
	*ret_us = us;
	return digits > 0 && digits <= FRACTION_MAX;
}

static bool read_time(const char **at, int64_t *ret_us)
{
	int hour, minute, second = 0;
	int64_t fraction = 0;

	if (!number(at, 2, 0, 23, &hour) || !take(at, ':') ||
	    !number(at, 2, 0, 59, &minute))
		return false;
	if (take(at, ':')) {
		if (!number(at, 2, 0, 59, &second))
			return false;
		if ((take(at, '.') || take(at, ',')) &&
		    !read_fraction(at, &fraction))
			return false;
	}
	*ret_us = (hour * 3600ll + minute * 60 + second) * 1000000 + fraction;
	return true;
}

/* Minutes east of UTC. */
static bool read_zone(const char **at, int *ret_minutes)
{
	int sign = 1;
	int hours, minutes = 0;

	*ret_minutes = 0;
	if (**at == '\0' || take(at, 'Z') || take(at, 'z'))
		return true;
	if (take(at, '-'))
		sign = -1;
	else if (!take(at, '+'))
		return false;
	if (!number(at, 2, 0, 23, &hours))
		return false;
	if (take(at, ':') || **at != '\0')
		if (!number(at, 2, 0, 59, &minutes))
			return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

int rfc3339_parse(const char *in_text, int64_t *ret_us)
{
	const char *at = in_text;
	int64_t days, us;
	int zone;

	if (!read_date(&at, &days) ||
	    !(take(&at, 'T') || take(&at, 't') || take(&at, ' ')) ||
	    !read_time(&at, &us) || !read_zone(&at, &zone) || *at != '\0')
		return -EINVAL;
	us += (days * 86400 - zone * 60ll) * 1000000;
	if (us < 0)
		return -ERANGE;
	*ret_us = us;
	return 0;
}
