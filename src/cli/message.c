/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

int message(const char *fmt, ...)
{
	char line[1024] = "osb: ";
	size_t len = strlen(line);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		line[len] = '\0';
	len = strlen(line);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	(void)!write(STDERR_FILENO, line, len); /* nobody left to tell */
	return EXIT_OSB;
}
