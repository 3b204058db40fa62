/*
 * The CNI plugin binary. In: CNI_* environment and the network configuration on stdin, from a container runtime.
 * Out: what the node's daemon answered, on stdout, and its exit status. It knows no networking and parses no JSON;
 * it only has to start fast and to run in the host's mount namespace, where there is no Node.js.
 *
 * Request:  magic | u32 count | count x (u32 length, "NAME=value") | u32 length, stdin     (all integers big endian)
 * Answer:   u32 exit status | u32 length, stdout
 * daemon/cni/protocol.ts is the other end and must agree with the three constants below.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC "isthmus1"
#define DEFAULT_SOCKET "/run/isthmus/daemon.sock"
#define SUPPORTED_VERSIONS "\"0.3.1\",\"0.4.0\",\"1.0.0\""

#define SEND_TIMEOUT_SECONDS 5
/* The daemon gives up before this and says why; this bound is for a daemon that hangs. */
#define ANSWER_TIMEOUT_SECONDS 90
#define MAX_STDIN (4u << 20)

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
        if (to->data == NULL) {
            _exit(1);
        }
    }
    memcpy(to->data + to->length, bytes, length);
    to->length += length;
}

static void append_u32(struct buffer *to, size_t value)
{
    uint32_t wire = htonl((uint32_t)value);
    append(to, &wire, sizeof wire);
}

static void read_stdin(struct buffer *into)
{
    char chunk[16384];
    ssize_t n;
    while ((n = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 || into->length > MAX_STDIN) {
            break;
        }
        append(into, chunk, (size_t)n);
    }
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return -1;
        }
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
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n == 0) {
            errno = ECONNRESET;
        } else if (n < 0 && errno == EAGAIN) {
            errno = ETIMEDOUT;
        }
        if (n <= 0) {
            return -1;
        }
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

/* An error must carry the cniVersion of the configuration: found by looking for the key, as the bytes after it. */
static void find_version(const struct buffer *config, char *out, size_t size)
{
    const char *key = "\"cniVersion\"";
    const char *at = config->data == NULL ? NULL : memmem(config->data, config->length, key, strlen(key));
    size_t n = 0;
    if (at != NULL) {
        const char *end = config->data + config->length;
        for (at += strlen(key); at < end && strchr(" \t\r\n:\"", *at) != NULL && *at != '\0'; at++) {
        }
        while (at < end && n + 1 < size && strchr("0123456789.", *at) != NULL && *at != '\0') {
            out[n++] = *at++;
        }
    }
    out[n] = '\0';
    if (n == 0) {
        snprintf(out, size, "1.0.0");
    }
}

static int answer_alone(const struct buffer *config, const char *path, const char *what, int error)
{
    char version[16];
    const char *command = getenv("CNI_COMMAND");
    find_version(config, version, sizeof version);
    if (command != NULL && strcmp(command, "VERSION") == 0) {
        printf("{\"cniVersion\":\"%s\",\"supportedVersions\":[" SUPPORTED_VERSIONS "]}\n", version);
        return 0;
    }
    /* The path is the administrator's; a quote or backslash in it would break the JSON. */
    int plain = strpbrk(path, "\"\\") == NULL;
    printf("{\"cniVersion\":\"%s\",\"code\":11,\"msg\":\"the isthmus daemon of this node does not answer, try again later\","
           "\"details\":\"%s %s: %s; look at the isthmus-daemon pod of this node\"}\n",
           version, what, plain ? path : "the daemon's socket", strerror(error));
    return 1;
}

static int dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval send_timeout = {.tv_sec = SEND_TIMEOUT_SECONDS}, answer_timeout = {.tv_sec = ANSWER_TIMEOUT_SECONDS};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

int main(void)
{
    const char *path = getenv("ISTHMUS_SOCKET");
    struct buffer config = {0}, request = {0};
    uint32_t header[2], count = 0;

    if (path == NULL || *path == '\0') {
        path = DEFAULT_SOCKET;
    }
    signal(SIGPIPE, SIG_IGN);
    read_stdin(&config);
    for (char **e = environ; *e != NULL; e++) {
        count += strncmp(*e, "CNI_", 4) == 0;
    }
    append(&request, MAGIC, strlen(MAGIC));
    append_u32(&request, count);
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "CNI_", 4) == 0) {
            append_u32(&request, strlen(*e));
            append(&request, *e, strlen(*e));
        }
    }
    append_u32(&request, config.length);
    append(&request, config.data == NULL ? "" : config.data, config.length);

    int fd = dial(path);
    if (fd < 0) {
        return answer_alone(&config, path, "connecting to", errno);
    }
    if (write_all(fd, request.data, request.length) != 0) {
        return answer_alone(&config, path, "writing to", errno);
    }
    if (read_all(fd, header, sizeof header) != 0) {
        return answer_alone(&config, path, "reading from", errno);
    }
    size_t length = ntohl(header[1]);
    char *answer = malloc(length + 1);
    if (answer == NULL || read_all(fd, answer, length) != 0) {
        return answer_alone(&config, path, "reading from", errno);
    }
    if (write_all(STDOUT_FILENO, answer, length) != 0) {
        return 1;
    }
    return (int)(ntohl(header[0]) & 0xff);
}
