/* test_pg_hosts.c: the hosts that a connection string names, tried in turn, by the rules of db/hosts.h. */
#include <stdio.h>
#include <string.h>

#include "hosts.h"
#include "suite.h"

/* Each try as "host/hostaddr/port/target", - for what libpq decides, a blank between tries; "": all is left to libpq.
 */
static const struct {
    const char *conninfo, *tries;
} table[] = {
    {"dbname=a", ""},
    {"host=h", ""},
    {"host=h port=5 target_session_attrs=read-write", ""},
    {"host=h,i", "h/-/-/- i/-/-/-"},
    {"host=h,i port=5", "h/-/5/- i/-/5/-"},
    {"host=h,i,j port=5,,7", "h/-/5/- i/-/-/- j/-/7/-"},
    {"host=h, hostaddr=1.2.3.4,::1 port=5,6", "h/1.2.3.4/5/- -/::1/6/-"},
    {"hostaddr=1.2.3.4,1.2.3.5", "-/1.2.3.4/-/- -/1.2.3.5/-/-"},
    {"host=,h", "-/-/-/- h/-/-/-"},
    {"host=h,i target_session_attrs=read-write", "h/-/-/- i/-/-/-"},
    {"host=h,i target_session_attrs=prefer-standby", "h/-/-/standby i/-/-/standby h/-/-/any i/-/-/any"},
    {"postgresql://h:1,i:2/a?target_session_attrs=primary", "h/-/1/- i/-/2/-"},

    /* lists that do not fit together, or too long ones */
    {"host=h,i port=1,2,3", ""},
    {"host=h hostaddr=1.2.3.4,1.2.3.5", ""},
    {"host=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", ""},
};

static const char *value_of(const char *keyword, int count, const char **names, const char **values)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], keyword) == 0)
            return values[i];
    return "-";
}

static void describe(const struct hosts *hosts, char *text, size_t room)
{
    const char *names[HOSTS_KEYWORDS], *values[HOSTS_KEYWORDS];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < hosts->tries; i++) {
        int count = hosts_keywords(hosts, i, names, values);
        if (hosts->count > 1)
            used += (size_t)snprintf(text + used, room - used, "%s%s/%s/%s/%s", i == 0 ? "" : " ",
                                     value_of("host", count, names, values), value_of("hostaddr", count, names, values),
                                     value_of("port", count, names, values),
                                     value_of("target_session_attrs", count, names, values));
    }
}

static void tries_in_turn(void)
{
    for (size_t i = 0; i < SUITE_COUNT(table); i++) {
        struct options options = {.conninfo = PQconninfoParse(table[i].conninfo, NULL)};
        struct hosts hosts;
        char seen[500];
        CU_ASSERT_PTR_NOT_NULL_FATAL(options.conninfo);
        CU_ASSERT_EQUAL_FATAL(hosts_read(&hosts, &options), 0);
        describe(&hosts, seen, sizeof seen);
        SUITE_CHECK(strcmp(seen, table[i].tries) == 0, "'%s': expected '%s', seen '%s'", table[i].conninfo,
                    table[i].tries, seen);
        CU_ASSERT_EQUAL(hosts_replace(&hosts, "host"), *table[i].tries != '\0');
        CU_ASSERT_FALSE(hosts_replace(&hosts, "dbname"));
        hosts_fini(&hosts);
        PQconninfoFree(options.conninfo);
    }
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"tries in turn", tries_in_turn},
    };
    return suite_main("pg_hosts", cases, SUITE_COUNT(cases), argc, argv);
}
