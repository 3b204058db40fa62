/*
 * The CNI plugin binary. It sends the CNI_* environment and the network configuration on stdin to the daemon of the node, writes the
 * answer to stdout and ends with the daemon's exit status. It does no networking and parses no JSON; it must start fast and run in the
 * mount namespace of the host, where there is no Node.js.
 *
 * Request:  magic | u32 count | count x (u32 length, "NAME=value") | u32 length, stdin     (all integers big endian)
 * Answer:   u32 exit status | u32 length, stdout
 * daemon/cni/server.ts is the other end; the three constants below must agree with daemon/cni/protocol.ts.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "isthmus1"
#define DEFAULT_SOCKET "/run/isthmus/daemon.sock"
#define SUPPORTED_VERSIONS "\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\""

/* Time to wait for a daemon that is away, for example because it is being replaced. */
#ifndef CONNECT_TIMEOUT_SECONDS
#define CONNECT_TIMEOUT_SECONDS 5
#endif
#define SEND_TIMEOUT_SECONDS 5
/* A limit for a daemon that hangs; a working daemon gives up earlier and names the reason. */
#ifndef ANSWER_TIMEOUT_SECONDS
#define ANSWER_TIMEOUT_SECONDS 90
#endif
#define STATUS_TIMEOUT_SECONDS 5
#define MAX_STDIN (4u << 20)
#define MAX_ANSWER (64u << 20)

extern char **environ;

struct buffer {
    char *data;
    size_t length, capacity;
};

static void append(struct buffer *to, const void *bytes, size_t length)
{
    if (to->length + length > to->capacity) {
        to->capacity = (to->length + length) * 2 + 4096;
        to->data = realloc(to->data, to->capacity);
        if (to->data == NULL)
            _exit(1);
    }
    memcpy(to->data + to->length, bytes, length);
    to->length += length;
}

static void append_u32(struct buffer *to, size_t value)
{
    uint32_t wire = htonl((uint32_t)value);
    append(to, &wire, sizeof wire);
}

/* Appends a NUL after the last byte. */
static void read_stdin(struct buffer *into)
{
    char chunk[16384];
    ssize_t n;
    while (into->length <= MAX_STDIN && (n = read(STDIN_FILENO, chunk, sizeof chunk)) > 0)
        append(into, chunk, (size_t)n);
    append(into, "", 1);
    into->length--;
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

static int read_all(int fd, void *into, size_t length)
{
    char *at = into;
    while (length > 0) {
        ssize_t n = read(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ECONNRESET : errno == EAGAIN ? ETIMEDOUT : errno;
            return -1;
        }
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

/* An error must have the cniVersion of the configuration; this searches for the key and takes the string after it. */
static void find_version(const struct buffer *config, char *out, size_t size)
{
    const char *key = "\"cniVersion\"", *at = strstr(config->data, key);
    size_t n = 0;
    if (at != NULL) {
        at += strlen(key);
        at += strspn(at, " \t\r\n:\"");
        n = strspn(at, "0123456789.");
    }
    snprintf(out, size, "%.*s", n == 0 ? 5 : (int)n, n == 0 ? "1.0.0" : at);
}

static int is_command(const char *name)
{
    const char *command = getenv("CNI_COMMAND");
    return command != NULL && strcmp(command, name) == 0;
}

/* Quotes, backslashes and control characters would break the surrounding JSON. */
static int is_plain(const char *text)
{
    while (*text != '\0' && *text != '"' && *text != '\\' && (unsigned char)*text >= ' ')
        text++;
    return *text == '\0';
}

static int answer_alone(const struct buffer *config, const char *path, const char *what, int error)
{
    char version[16];
    find_version(config, version, sizeof version);
    if (is_command("VERSION")) {
        printf("{\"cniVersion\":\"%s\",\"supportedVersions\":[" SUPPORTED_VERSIONS "]}\n", version);
        return 0;
    }
    printf("{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":\"the isthmus daemon of this node does not answer, try again later\","
           "\"details\":\"%s %s: %s; look at the isthmus-daemon pod of this node\"}\n",
           version, is_command("STATUS") ? 50 : 11, what, is_plain(path) ? path : "the daemon's socket", strerror(error));
    return 1;
}

/* The program behind the socket may not be a daemon. Errors and results are JSON objects; only some verbs succeed with empty stdout. */
static int is_answer(uint32_t status, const char *text, size_t length)
{
    if (length == 0)
        return status == 0 && !is_command("ADD") && !is_command("VERSION");
    return status <= 255 && text[0] == '{' && text[length - 1] == '\n';
}

static int dial(const struct sockaddr_un *address)
{
    struct timeval send_timeout = {.tv_sec = SEND_TIMEOUT_SECONDS};
    struct timeval answer_timeout = {.tv_sec = is_command("STATUS") ? STATUS_TIMEOUT_SECONDS : ANSWER_TIMEOUT_SECONDS};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout);
    return connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? fd : -1;
}

/* Connects. If no process listens, waits until inotify reports that a daemon has put its socket into the folder. Nothing is sent before. */
static int dial_or_wait(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[sizeof address.sun_path], events[4096];
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    strcpy(slash == NULL ? folder : slash + 1, ".");
    struct pollfd watch = {.fd = -1, .events = POLLIN};
    int can_wait = !is_command("VERSION") && !is_command("STATUS");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (time_t end = now.tv_sec + CONNECT_TIMEOUT_SECONDS;;) {
        int fd = dial(&address), error = errno;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (fd >= 0 || !can_wait || (error != ENOENT && error != ECONNREFUSED) || now.tv_sec >= end) {
            errno = error;
            return fd;
        }
        if (watch.fd < 0) {
            /* Only made when needed, because a watch delays the end of the process by about 12 ms. The socket may have appeared meanwhile. */
            watch.fd = inotify_init1(IN_CLOEXEC);
            can_wait = inotify_add_watch(watch.fd, folder, IN_MOVED_TO | IN_CREATE | IN_ATTRIB) >= 0;
        } else if (poll(&watch, 1, (int)(end - now.tv_sec) * 1000) <= 0 || read(watch.fd, events, sizeof events) < 0) {
            errno = error;
            return -1;
        }
    }
}

int main(void)
{
    const char *path = getenv("ISTHMUS_SOCKET"), *step = "connecting to";
    struct buffer config = {0}, entries = {0}, request = {0};
    uint32_t header[2], count = 0;

    if (path == NULL || *path == '\0')
        path = DEFAULT_SOCKET;
    signal(SIGPIPE, SIG_IGN);
    read_stdin(&config);
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "CNI_", 4) == 0) {
            append_u32(&entries, strlen(*e));
            append(&entries, *e, strlen(*e));
            count++;
        }
    }
    append_u32(&entries, config.length);
    append(&entries, config.data, config.length);
    append(&request, MAGIC, strlen(MAGIC));
    append_u32(&request, count);
    append(&request, entries.data, entries.length);

    int fd = dial_or_wait(path);
    if (fd < 0 || (step = "writing to", write_all(fd, request.data, request.length)) != 0 ||
        (step = "reading from", read_all(fd, header, sizeof header)) != 0)
        return answer_alone(&config, path, step, errno);
    size_t length = ntohl(header[1]);
    char *answer = length > MAX_ANSWER ? NULL : malloc(length + 1);
    if (answer == NULL || read_all(fd, answer, length) != 0)
        return answer_alone(&config, path, step, answer == NULL ? EPROTO : errno);
    if (!is_answer(ntohl(header[0]), answer, length))
        return answer_alone(&config, path, step, EPROTO);
    return write_all(STDOUT_FILENO, answer, length) != 0 ? 1 : (int)ntohl(header[0]);
}
