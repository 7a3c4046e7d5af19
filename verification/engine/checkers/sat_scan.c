/* The quick reading of SAT files: it recognises what is plainly in order and leaves every other file to sat_plain.py.
 *
 * No libc, no allocation, no globals, no writing outside the buffers it is handed, so that any C compiler builds it
 * into a shared object that needs nothing. Every read is preceded by its own comparison with the end of the bytes.
 * Each function returns 0 when all is in order and 1 when it is not sure: it never decides *against* a file.
 */

typedef unsigned char byte;
typedef long long wide;
typedef unsigned long long __attribute__((aligned(1), may_alias)) word;     /* eight bytes, the first the lowest */

#define NOT_SURE 1
#define LARGEST_VARIABLE 2147483646LL
#define IS_DIGIT(c) ((unsigned)((c) - '0') <= 9u)
#define ZEROS 0x3030303030303030ULL              /* eight '0': what differs from them is the digits' values */
#define MORE_THAN_NINE 0x7676767676767676ULL     /* added to a byte above 9, sets its high bit */
#define HIGH_BITS 0x8080808080808080ULL
#define IS_BLANK(c) ((c) == ' ' || (c) == '\t')

/* Where the blanks from `at` on end. */
static const byte *past_blanks(const byte *at, const byte *end)
{
    while (at < end && IS_BLANK(*at))
        at++;
    return at;
}

/* Where the line end at `at` ends (the end of the bytes is one), or 0 when something else stands there. */
static const byte *past_line_end(const byte *at, const byte *end)
{
    if (at == end)
        return at;
    if (*at == '\n')
        return at + 1;
    if (*at == '\r' && end - at > 1 && at[1] == '\n')
        return at + 2;
    return 0;
}

/* Where the line after the one holding `at` begins; for comments, whose bytes do not matter. */
static const byte *past_line(const byte *at, const byte *end)
{
    while (at < end && *at != '\n')
        at++;
    return at < end ? at + 1 : end;
}

/* Where `word` ends when it stands at `at`, or 0. */
static const byte *past_word(const byte *at, const byte *end, const char *word)
{
    for (; *word; word++, at++)
        if (at == end || *at != (byte)*word)
            return 0;
    return at;
}

/* Reads one to ten digits after at least one blank; returns where they end, or 0. */
static const byte *past_count(const byte *at, const byte *end, wide *count)
{
    const byte *start = past_blanks(at, end);
    wide sum = 0;

    if (start == at)
        return 0;
    for (at = start; at < end && IS_DIGIT(*at); at++) {
        if (at - start == 10)
            return 0;
        sum = sum * 10 + (*at - '0');
    }
    *count = sum;
    return at == start ? 0 : at;
}

/* Reads the header line from its `p` on; returns where the line ends, or 0. */
static const byte *past_header(const byte *at, const byte *end, wide *variables, wide *clauses)
{
    const byte *start;

    at = past_word(at, end, "p");
    if (!at)
        return 0;
    start = past_blanks(at, end);
    if (start == at)
        return 0;
    at = past_word(start, end, "cnf");
    if (!at)
        return 0;
    at = past_count(at, end, variables);
    if (!at || *variables > LARGEST_VARIABLE)
        return 0;
    at = past_count(at, end, clauses);
    if (!at)
        return 0;
    return past_line_end(past_blanks(at, end), end);
}

/* Whether only white space and at most one `0` follow the SATLIB `%` that stands before `at`. */
static int is_empty_tail(const byte *at, const byte *end)
{
    int has_zero = 0;

    at = past_line_end(past_blanks(at, end), end);
    while (at) {
        at = past_blanks(at, end);
        if (at == end)
            return 1;
        if (*at == '0' && !has_zero) {
            has_zero = 1;
            at++;
            if (at < end && !IS_BLANK(*at) && *at != '\n' && *at != '\r')
                return 0;
        } else {
            at = past_line_end(at, end);
        }
    }
    return 0;
}

/* Finds the header line before the first clause. `found`: variables, clauses. */
int sat_scan_header(const byte *at, wide size, wide *found)
{
    const byte *end = at + size, *next;

    while (at < end) {
        if (*at == 'c') {
            at = past_line(at, end);
            continue;
        }
        at = past_blanks(at, end);
        if (at < end && *at == 'p')
            return past_header(at, end, &found[0], &found[1]) ? 0 : NOT_SURE;
        next = past_line_end(at, end);
        if (!next)
            return NOT_SURE;
        at = next;
    }
    return NOT_SURE;
}

/* Reads a whole instance and evaluates it under `values` (`room` of them; 1 true, 2 false, 0 neither; by variable).
 * `found`: variables, clauses, satisfied ones, the number of the first that is not (0: none) and where it begins. */
int sat_scan_instance(const byte *start, wide size, const byte *values, wide room, wide *found)
{
    const byte *at = start, *end = start + size, *clause = start;
    wide variables = -1, clauses = 0, seen = 0, satisfied = 0, first = 0, first_at = 0, value;
    word digits, ends;
    int count, is_negative, is_open = 0, holds = 0;

    while (at < end) {
        if (*at == 'c') {
            at = past_line(at, end);
            continue;
        }
        at = past_blanks(at, end);
        if (at < end && *at == '%') {
            if (!is_empty_tail(at + 1, end))
                return NOT_SURE;
            break;
        }
        if (at < end && *at == 'p') {
            if (variables >= 0)
                return NOT_SURE;
            at = past_header(at, end, &variables, &clauses);
            if (!at || variables >= room)
                return NOT_SURE;
            continue;
        }
        while (at < end) {                          /* the tokens of this line */
            if (IS_BLANK(*at)) {
                at++;
                continue;
            }
            if (!is_open)
                clause = at;
            is_negative = *at == '-';
            at += is_negative;
            if (end - at >= 8) {
                digits = *(const word *)at ^ ZEROS;
                ends = ((digits + MORE_THAN_NINE) | digits) & HIGH_BITS;
                if (ends == 0)
                    return NOT_SURE;
                count = ((ends & (0 - ends)) >> 7) * 0x0001020304050607ULL >> 56;
            } else {
                digits = 0;
                for (count = 0; count < end - at && IS_DIGIT(at[count]); count++)
                    digits |= (word)(at[count] - '0') << 8 * count;
            }
            if (count == 0) {
                at = is_negative ? 0 : past_line_end(at, end);
                if (!at)
                    return NOT_SURE;
                break;
            }
            if (variables < 0)
                return NOT_SURE;
            at += count;
            if (at < end && *at != ' ' && *at != '\n' && *at != '\t' && *at != '\r')
                return NOT_SURE;
            if ((digits & 255) != 0) {
                digits <<= 64 - 8 * count;
                digits = (digits * 10 + (digits >> 8)) & 0x00FF00FF00FF00FFULL;
                digits = (digits * 100 + (digits >> 16)) & 0x0000FFFF0000FFFFULL;
                value = (digits * 10000 + (digits >> 32)) & 0xFFFFFFFFULL;
                if (value > variables)
                    return NOT_SURE;
                is_open = 1;
                holds |= values[value] == 1 + is_negative;
                continue;
            }
            if (count != 1 || is_negative)
                return NOT_SURE;
            seen++;
            satisfied += holds;
            if (!holds && first == 0) {
                first = seen;
                first_at = clause - start;
            }
            is_open = holds = 0;
        }
    }
    if (variables < 0 || is_open || seen != clauses)
        return NOT_SURE;
    found[0] = variables;
    found[1] = clauses;
    found[2] = satisfied;
    found[3] = first;
    found[4] = first_at;
    return 0;
}

/* Reads a whole assignment that claims nothing or `s SATISFIABLE` into `values` (1 true, 2 false, by variable).
 * `values` holds `variables` + 1 zeros. `found`: how many variables got a value. */
int sat_scan_assignment(const byte *at, wide size, byte *values, wide variables, wide *found)
{
    const byte *end = at + size;
    wide value, assigned = 0;
    unsigned digit;
    int has_claim = 0, is_closed = 0;
    byte sign;

    while (at < end) {
        if (*at == 'c') {
            at = past_line(at, end);
            continue;
        }
        if (*at == 's') {
            at = has_claim ? 0 : past_word(at, end, "s SATISFIABLE");
            if (!at)
                return NOT_SURE;
            has_claim = 1;
            at = past_line_end(past_blanks(at, end), end);
            if (!at)
                return NOT_SURE;
            continue;
        }
        if (*at == 'v') {
            at++;
            if (is_closed || (at < end && !IS_BLANK(*at) && *at != '\n' && *at != '\r'))
                return NOT_SURE;
        }
        else if (!IS_BLANK(*at) && *at != '\n' && *at != '\r')
            return NOT_SURE;
        else {                                      /* an empty line, or not sure */
            at = past_line_end(past_blanks(at, end), end);
            if (!at)
                return NOT_SURE;
            continue;
        }
        for (;;) {                                  /* the tokens of this line */
            at = past_blanks(at, end);
            if (at == end || *at == '\n' || *at == '\r') {
                at = past_line_end(at, end);
                if (!at)
                    return NOT_SURE;
                break;
            }
            if (is_closed)
                return NOT_SURE;
            sign = 1;
            if (*at == '-') {
                sign = 2;
                if (++at == end)
                    return NOT_SURE;
            }
            digit = (unsigned)*at - '0';
            if (digit > 9)
                return NOT_SURE;
            at++;
            value = digit;
            if (value == 0) {
                if (sign == 2)
                    return NOT_SURE;
                is_closed = 1;
            } else {
                while (at < end && (digit = (unsigned)*at - '0') <= 9) {
                    value = value * 10 + digit;
                    if (value > variables)
                        return NOT_SURE;
                    at++;
                }
                if (value > variables)
                    return NOT_SURE;
                if (values[value] == 0) {
                    values[value] = sign;
                    assigned++;
                } else if (values[value] != sign) {
                    return NOT_SURE;
                }
            }
            if (at < end && !IS_BLANK(*at) && *at != '\n' && *at != '\r')
                return NOT_SURE;
        }
    }
    if (!is_closed)
        return NOT_SURE;
    found[0] = assigned;
    return 0;
}
