/* The reward roadsense@R0, written by hand in C99 to be compared with plaudit's:
 *
 *     cc -std=c99 -O2 -o roadsense roadsense.c
 *     plaudit parity roadsense --against ./roadsense
 *
 * It reads one JSON object a line, {"distance": 12.5, "deceleration": 0.0, "action": 2}, in which infinity is the
 * text "inf", and answers each with one line, {"total": -5, "values": {"safety": -5, ...}}.
 *
 * -DBUG_BOUNDARY and -DBUG_SIGN plant a mistake each, to see that it is found.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 4096, LONGEST_KEY = 32 };

typedef struct {
    double distance;     /* m */
    double deceleration; /* m/s^2 */
    double action;       /* 0 Maintain, 1 Caution, 2 Brake, 3 Emergency */
} Row;

/* -- the reward ----------------------------------------------------------------------------------------------------- */

static double safety(double distance)
{
    if (distance < 5.0)
        return -100.0;
#ifdef BUG_BOUNDARY
    if (distance <= 15.0)
#else
    if (distance < 15.0)
#endif
        return -5.0;
    if (distance < 20.0)
        return 0.0;
    return distance <= 40.0 ? 1.0 : 0.5;
}

static double comfort(double deceleration)
{
#ifdef BUG_SIGN
    double force = deceleration;
#else
    double force = deceleration < 0.0 ? -deceleration : deceleration;
#endif
    if (force > 4.5)
        return -10.0;
    return force > 3.0 ? -2.0 : 0.0;
}

static double appropriateness(double distance, double action)
{
    if (distance > 40.0 && action > 1.0)
        return -2.0;
    if (distance < 15.0 && action == 0.0)
        return -3.0;
    return 0.0;
}

/* -- one line of JSON: an object with numbers, nothing else --------------------------------------------------------- */

static void fail(const char *what, const char *line)
{
    fprintf(stderr, "roadsense: %s in: %s\n", what, line);
    exit(2);
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Copies the text that begins at a quote into `text` and returns what comes after it; NULL where it is no plain text. */
static const char *read_text(const char *at, char text[LONGEST_KEY])
{
    size_t length;
    if (*at != '"')
        return NULL;
    length = strcspn(++at, "\"\\");
    if (at[length] != '"' || length >= LONGEST_KEY)
        return NULL;
    memcpy(text, at, length);
    text[length] = '\0';
    return at + length + 1;
}

/* Reads a number, or the text "inf", and returns what comes after it; NULL where it is neither. */
static const char *read_number(const char *at, double *number)
{
    char text[LONGEST_KEY];
    char *end;
    if (*at == '"') {
        at = read_text(at, text);
        *number = HUGE_VAL;
        return at != NULL && strcmp(text, "inf") == 0 ? at : NULL;
    }
    if (*at != '-' && (*at < '0' || *at > '9'))
        return NULL; /* strtod would take "nan", "+1" and more */
    errno = 0;
    *number = strtod(at, &end);
    return end == at || (errno == ERANGE && fabs(*number) == HUGE_VAL) ? NULL : end;
}

static Row read_row(const char *line)
{
    Row row;
    const char *names[] = {"distance", "deceleration", "action"};
    double *places[3];
    int seen[3] = {0, 0, 0};
    const char *at = skip_space(line);
    char key[LONGEST_KEY];
    int i;

    places[0] = &row.distance;
    places[1] = &row.deceleration;
    places[2] = &row.action;
    if (*at != '{')
        fail("no object", line);
    do {
        at = read_text(skip_space(at + 1), key);
        if (at == NULL)
            fail("no key", line);
        at = skip_space(at);
        if (*at != ':')
            fail("no colon", line);
        for (i = 0; i < 3 && strcmp(key, names[i]) != 0; i++)
            ;
        if (i == 3 || seen[i]++)
            fail("an unknown or doubled key", line);
        at = read_number(skip_space(at + 1), places[i]);
        if (at == NULL)
            fail("no number", line);
        at = skip_space(at);
    } while (*at == ',');
    if (*at != '}' || *skip_space(at + 1) != '\0')
        fail("no end of the object", line);
    if (!seen[0] || !seen[1] || !seen[2])
        fail("a missing key", line);
    return row;
}

int main(void)
{
    char line[LONGEST_LINE];
    while (fgets(line, sizeof line, stdin) != NULL) {
        Row row;
        double s, c, a;
        if (strchr(line, '\n') == NULL && !feof(stdin))
            fail("a line that is too long", line);
        row = read_row(line);
        s = safety(row.distance);
        c = comfort(row.deceleration);
        a = appropriateness(row.distance, row.action);
        /* 17 digits give back the very same double. */
        printf("{\"total\": %.17g, \"values\": {\"safety\": %.17g, \"comfort\": %.17g, \"appropriateness\": %.17g}}\n",
               s + c + a, s, c, a);
        fflush(stdout); /* plaudit waits for this line before it sends the next row */
    }
    return 0;
}
