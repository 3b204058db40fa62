/** `node advertise.ts LINK…`: sends the daemon's router advertisements on links of the present network namespace. */
import { KernelEvents } from '../../../daemon/host/kernel-events.ts';
import { RouterAdvertisements } from '../../../daemon/host/router-advertisements.ts';
import { Rtnetlink } from '../../../daemon/host/rtnetlink.ts';
import { watchHost } from '../../../daemon/host/watch-host.ts';

const advertisements = new RouterAdvertisements(new Rtnetlink(), () => {
  for (const { message } of advertisements.problems) process.stderr.write(`${message}\n`);
});
watchHost(new KernelEvents(), {
  names: () => [],
  used: () => advertisements.links,
  onChange: () => advertisements.linkChanged(),
  onAddress: () => undefined,
});
advertisements.set(process.argv.slice(2));
