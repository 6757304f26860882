/* The beginning of the second program: which options of sockets can be set and read, level by
 * level. What is not listed is refused with ENOPROTOOPT, as by a kernel that does not know it,
 * which is what programs are prepared for; EPERM would look like a mistake of theirs.
 *
 * Left out on purpose, among others: filters on sockets (they use up the host's memory for compiled
 * filters, without which nobody can install one), SO_LINGER (whoever closes the socket waits; it
 * seems to be set and is not), SO_PASSPIDFD and SO_PEERPIDFD (a handle of the daemon), zero copies,
 * marks, IPsec policies, upper layer protocols and keys of TCP, tables of packet filters, forced
 * buffers.
 *
 * It is written out here because libseccomp cannot say "none but these". Guardian, and
 * the doctor. */
#include "jail/warden/seccomp_parts.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { SET = 1, GET = 2, BOTH = SET | GET };

struct option {
    int number;
    int direction;
};

static const struct option socket_options[] = {
    {SO_REUSEADDR, BOTH},   {SO_TYPE, GET},      {SO_ERROR, GET},      {SO_DONTROUTE, BOTH},
    {SO_BROADCAST, BOTH},   {SO_SNDBUF, BOTH},   {SO_RCVBUF, BOTH},    {SO_KEEPALIVE, BOTH},
    {SO_OOBINLINE, BOTH},   {SO_LINGER, GET},    {SO_REUSEPORT, BOTH}, {SO_PASSCRED, BOTH},
    {SO_PEERCRED, GET},     {SO_RCVLOWAT, BOTH}, {SO_SNDLOWAT, GET},   {SO_RCVTIMEO, BOTH},
    {SO_SNDTIMEO, BOTH},    {SO_PEERNAME, GET},  {SO_TIMESTAMP, BOTH}, {SO_ACCEPTCONN, GET},
    {SO_TIMESTAMPNS, BOTH}, {SO_PROTOCOL, GET},  {SO_DOMAIN, GET},
};

static const struct option tcp_options[] = {
    {TCP_NODELAY, BOTH},
    {TCP_MAXSEG, BOTH},
    {TCP_CORK, BOTH},
    {TCP_KEEPIDLE, BOTH},
    {TCP_KEEPINTVL, BOTH},
    {TCP_KEEPCNT, BOTH},
    {TCP_SYNCNT, BOTH},
    {TCP_LINGER2, BOTH},
    {TCP_DEFER_ACCEPT, BOTH},
    {TCP_WINDOW_CLAMP, BOTH},
    {TCP_INFO, GET},
    {TCP_QUICKACK, BOTH},
    {TCP_CONGESTION, GET},
    {TCP_USER_TIMEOUT, BOTH},
    {TCP_FASTOPEN, BOTH},
    {TCP_NOTSENT_LOWAT, BOTH},
    {TCP_FASTOPEN_CONNECT, BOTH},
    {TCP_INQ, BOTH},
};

static const struct option ip_options[] = {
    {IP_TOS, BOTH},
    {IP_TTL, BOTH},
    {IP_PKTINFO, BOTH},
    {IP_MTU_DISCOVER, BOTH},
    {IP_RECVERR, BOTH},
    {IP_RECVTTL, BOTH},
    {IP_RECVTOS, BOTH},
    {IP_MTU, GET},
    {24 /* IP_BIND_ADDRESS_NO_PORT */, BOTH},
    {IP_MULTICAST_IF, BOTH},
    {IP_MULTICAST_TTL, BOTH},
    {IP_MULTICAST_LOOP, BOTH},
    {IP_ADD_MEMBERSHIP, SET},
    {IP_DROP_MEMBERSHIP, SET},
    {IP_ADD_SOURCE_MEMBERSHIP, SET},
    {IP_DROP_SOURCE_MEMBERSHIP, SET},
    {MCAST_JOIN_GROUP, SET},
    {MCAST_LEAVE_GROUP, SET},
    {MCAST_JOIN_SOURCE_GROUP, SET},
    {MCAST_LEAVE_SOURCE_GROUP, SET},
    {IP_MULTICAST_ALL, BOTH},
};

static const struct option ipv6_options[] = {
    {IPV6_UNICAST_HOPS, BOTH},
    {IPV6_MULTICAST_IF, BOTH},
    {IPV6_MULTICAST_HOPS, BOTH},
    {IPV6_MULTICAST_LOOP, BOTH},
    {IPV6_JOIN_GROUP, SET},
    {IPV6_LEAVE_GROUP, SET},
    {IPV6_MTU_DISCOVER, BOTH},
    {IPV6_MTU, BOTH},
    {IPV6_RECVERR, BOTH},
    {IPV6_V6ONLY, BOTH},
    {29 /* IPV6_MULTICAST_ALL */, BOTH},
    {MCAST_JOIN_GROUP, SET},
    {MCAST_LEAVE_GROUP, SET},
    {MCAST_JOIN_SOURCE_GROUP, SET},
    {MCAST_LEAVE_SOURCE_GROUP, SET},
    {IPV6_RECVPKTINFO, BOTH},
    {IPV6_RECVHOPLIMIT, BOTH},
    {IPV6_DONTFRAG, BOTH},
    {IPV6_RECVTCLASS, BOTH},
    {IPV6_TCLASS, BOTH},
};

static const struct option udp_options[] = {
    {UDP_CORK, BOTH},
};

static const struct {
    int number;
    const struct option *options;
    size_t n_options;
} levels[] = {
    {SOL_SOCKET, socket_options, ARRAY_LEN(socket_options)},
    {IPPROTO_TCP, tcp_options, ARRAY_LEN(tcp_options)},
    {IPPROTO_IP, ip_options, ARRAY_LEN(ip_options)},
    {IPPROTO_IPV6, ipv6_options, ARRAY_LEN(ipv6_options)},
    {IPPROTO_UDP, udp_options, ARRAY_LEN(udp_options)},
};

/* ---- the program ------------------------------------------------------------------------------
 *
 * Which call and which level decide about three words in scratch memory, a bit for each option;
 * then the option picks its bit. A chain of comparisons would be three times as long, and the
 * kernel compiles it for every session. */

static const struct {
    long call;
    int direction;
} calls[] = {{SYS_setsockopt, SET}, {SYS_getsockopt, GET}};

enum { LEVEL_ARG = 1, OPTION_ARG = 2, WORDS = 3, WORD_BITS = 32 };

#define REFUSE (SECCOMP_RET_ERRNO | ENOPROTOOPT)

/* The low half of an argument: the kernel takes an int. */
static uint32_t at_arg(size_t number)
{
    size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint32_t);
    return (uint32_t)(offsetof(struct seccomp_data, args) + number * sizeof(uint64_t) + low);
}

struct writer {
    struct sock_filter *code;
    size_t max, len;
};

static void put(struct writer *w, unsigned code, uint32_t k)
{
    if (w->len < w->max)
        w->code[w->len] = (struct sock_filter)BPF_STMT((uint16_t)code, k);
    w->len++;
}

/* Passes over the next step unless what was loaded is `value`. */
static void put_if(struct writer *w, uint32_t value)
{
    put(w, BPF_JMP | BPF_JEQ | BPF_K, value);
    if (w->len <= w->max)
        w->code[w->len - 1].jf = 1;
}

/* A jump to a place that put_here decides. Returns what put_here wants to know. */
static size_t put_jump(struct writer *w)
{
    put(w, BPF_JMP | BPF_JA, 0);
    return w->len - 1;
}

static void put_here(struct writer *w, size_t jump)
{
    if (jump < w->max)
        w->code[jump].k = (uint32_t)(w->len - jump - 1);
}

static void put_words(struct writer *w, size_t level, int direction)
{
    uint32_t words[WORDS] = {0};
    for (size_t i = 0; i < levels[level].n_options; i++) {
        const struct option *option = &levels[level].options[i];
        assert(option->number >= 0 && option->number < WORDS * WORD_BITS);
        if (option->direction & direction)
            words[option->number / WORD_BITS] |= 1U << option->number % WORD_BITS;
    }
    for (uint32_t i = 0; i < WORDS; i++) {
        put(w, BPF_LD | BPF_IMM, words[i]);
        put(w, BPF_ST, i);
    }
}

/* Setting it is taken for done: servers and IPython's kernels do it, mostly to 0, and give up if
 * they cannot. */
static void put_linger(struct writer *w)
{
    put(w, BPF_LD | BPF_W | BPF_ABS, at_arg(OPTION_ARG));
    put_if(w, SO_LINGER);
    put(w, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0);
}

static void put_test(struct writer *w)
{
    size_t jumps[WORDS];
    put(w, BPF_LD | BPF_W | BPF_ABS, at_arg(OPTION_ARG));
    put(w, BPF_ALU | BPF_AND | BPF_K, WORD_BITS - 1);
    put(w, BPF_MISC | BPF_TAX, 0);
    put(w, BPF_LD | BPF_W | BPF_ABS, at_arg(OPTION_ARG));
    put(w, BPF_ALU | BPF_DIV | BPF_K, WORD_BITS);
    for (uint32_t i = 0; i < WORDS; i++) {
        put_if(w, i);
        jumps[i] = put_jump(w);
    }
    put(w, BPF_RET | BPF_K, REFUSE);
    size_t tests[WORDS];
    for (uint32_t i = 0; i < WORDS; i++) {
        put_here(w, jumps[i]);
        put(w, BPF_LD | BPF_MEM, i);
        tests[i] = put_jump(w);
    }
    for (uint32_t i = 0; i < WORDS; i++)
        put_here(w, tests[i]);
    put(w, BPF_ALU | BPF_RSH | BPF_X, 0);
    put(w, BPF_ALU | BPF_AND | BPF_K, 1);
    put_if(w, 1);
    put(w, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    put(w, BPF_RET | BPF_K, REFUSE);
}

/* Calls of foreign architectures, with other numbers, are ended by the first program. */
int seccomp_write_options(struct sock_filter *code, size_t max)
{
    struct writer w = {.code = code, .max = max};
    size_t to_call[ARRAY_LEN(calls)], to_words[ARRAY_LEN(calls)][ARRAY_LEN(levels)];
    size_t to_test[ARRAY_LEN(calls)][ARRAY_LEN(levels)];
    put(&w, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        put_if(&w, (uint32_t)calls[c].call);
        to_call[c] = put_jump(&w);
    }
    size_t to_the_rest = put_jump(&w);
    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        put_here(&w, to_call[c]);
        put(&w, BPF_LD | BPF_W | BPF_ABS, at_arg(LEVEL_ARG));
        for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
            put_if(&w, (uint32_t)levels[i].number);
            to_words[c][i] = put_jump(&w);
        }
        put(&w, BPF_RET | BPF_K, REFUSE);
        for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
            put_here(&w, to_words[c][i]);
            if (calls[c].direction == SET && levels[i].number == SOL_SOCKET)
                put_linger(&w);
            put_words(&w, i, calls[c].direction);
            to_test[c][i] = put_jump(&w);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(calls) * ARRAY_LEN(levels); i++)
        put_here(&w, to_test[i / ARRAY_LEN(levels)][i % ARRAY_LEN(levels)]);
    put_test(&w);
    put_here(&w, to_the_rest);
    return w.len <= max ? (int)w.len : -E2BIG;
}
