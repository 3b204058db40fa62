/* Raw frames of one interface: `frames send eth0` sends those it reads, a line of hexadecimal digits each; `frames watch eth0`
 * prints those that arrive the same way, after a line "ready". */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void send_all(int fd) {
  static char line[1 << 16];
  static unsigned char frame[1 << 15];
  while (fgets(line, sizeof line, stdin) != NULL) {
    size_t length = 0;
    unsigned octet;
    for (const char *at = line; sscanf(at, "%2x", &octet) == 1; at += 2) frame[length++] = (unsigned char)octet;
    if (length > 0 && send(fd, frame, length, 0) < 0) fail("send");
  }
}

static void print(const unsigned char *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) printf("%02x", bytes[at]);
}

static void watch(int fd) {
  static unsigned char frame[1 << 16];
  static char control[256];
  int one = 1;
  if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof one) != 0) fail("PACKET_AUXDATA");
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct sockaddr_ll from;
    struct iovec data = {frame, sizeof frame};
    struct msghdr message = {&from, sizeof from, &data, 1, control, sizeof control, 0};
    ssize_t length = recvmsg(fd, &message, 0);
    if (length < 0) fail("recvmsg");
    if (from.sll_pkttype == PACKET_OUTGOING || length < 12) continue;
    print(frame, 12);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
      struct tpacket_auxdata aux;
      if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA) continue;
      memcpy(&aux, CMSG_DATA(c), sizeof aux);
      /* The kernel has taken the tag off. */
      if (aux.tp_status & TP_STATUS_VLAN_VALID) printf("%04x%04x", aux.tp_vlan_tpid, aux.tp_vlan_tci);
    }
    print(frame + 12, (size_t)length - 12);
    puts("");
    fflush(stdout);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  if (fd < 0) fail("socket");
  struct sockaddr_ll at = {0};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = (int)if_nametoindex(argv[2]);
  if (at.sll_ifindex == 0) fail(argv[2]);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0) fail("bind");
  if (strcmp(argv[1], "send") == 0) send_all(fd);
  else watch(fd);
  return 0;
}
