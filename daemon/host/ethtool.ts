/** Offload settings of an interface, by the ethtool ioctl. */
import koffi from 'koffi';
import { close, libc, openDescriptor, systemError } from './libc.ts';
import type { Netns } from './netns.ts';

const SIOCETHTOOL = 0x8946;
const ETHTOOL_STXCSUM = 0x17;
const AF_INET = 2;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const IFNAMSIZ = 16;

koffi.struct('ethtool_value', { cmd: 'uint32_t', data: 'uint32_t' });
// The union after the name is as large as a sockaddr or larger; only its pointer is used here.
koffi.struct('ifreq_ethtool', {
  name: koffi.array('char', IFNAMSIZ),
  data: 'ethtool_value *',
  rest: koffi.array('uint8_t', 16),
});

const ioctl = libc.func('int ioctl(int fd, unsigned long request, _Inout_ ifreq_ethtool *argument)') as (
  fd: number,
  request: number,
  argument: object,
) => number;

/**
 * Makes the kernel complete checksums before it passes packets on (`ethtool -K IF tx off`, which also turns off segmentation offload). A
 * userspace datapath reads frames as they are, and with partial checksums TCP between pods fails.
 */
export function disableTransmitChecksum(netns: Netns, ifname: string): void {
  netns.run(() => finishChecksums(ifname));
}

/** The same in the current network namespace. @throws Error with a code */
export function finishChecksums(ifname: string): void {
  const fd = openDescriptor(AF_INET, SOCK_DGRAM_CLOEXEC, 0);
  try {
    const request = {
      name: ifname,
      data: { cmd: ETHTOOL_STXCSUM, data: 0 },
      rest: Array.from({ length: 16 }, () => 0),
    };
    if (ioctl(fd, SIOCETHTOOL, request) !== 0) throw systemError(`SIOCETHTOOL on ${ifname}`);
  } finally {
    close(fd);
  }
}
