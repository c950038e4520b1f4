/* SPDX-License-Identifier: Apache-2.0 */

/* The unit: fork+exec+wait of this, linked statically. */
int main(void)
{
	return 0;
}
