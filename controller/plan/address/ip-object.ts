import { label } from '../../../lib/api/names.ts';
import type { HeldPort, View } from '../../model/view.ts';
import type { IpSubject } from '../../settle/address/holders/kind.ts';
import { holderOf } from '../../settle/address/holders/registry.ts';
import type { ObjectReport } from '../report.ts';
import { addressText } from './texts.ts';

/** The IP object of a port. */
function planIp(view: View, { port, allocation }: HeldPort, subject: IpSubject): ObjectReport {
  const { subnet, mac, v4 = '', v6 = '' } = allocation;
  const observed = view.ips.get(port);
  const isReserved = observed?.labels[label.ipReserved] ?? 'false';
  const former = observed?.spec.subnet ?? '';
  // The name of the subnet is also a label: the label of a former subnet is removed.
  const formerLabel = former === '' || former === subnet ? {} : { [former]: null };
  // A label's value has at most 63 characters, a node's name may have more.
  const nodeLabel = subject.nodeName.length > 63 ? {} : { [label.nodeName]: subject.nodeName };
  return {
    object: { kind: 'ips', name: port },
    presence: 'required',
    labels: { ...formerLabel, [label.subnet]: subnet, ...nodeLabel, [subnet]: '', [label.ipReserved]: isReserved },
    spec: {
      ...subject,
      subnet,
      ipAddress: addressText(allocation),
      v4IpAddress: v4,
      v6IpAddress: v6,
      macAddress: mac,
    },
    initialSpec: { attachSubnets: [], attachIps: [], attachMacs: [], containerID: '' },
  };
}

/** IP objects of the ports of a key; none while it has no address, or where its kind has no IP objects of its own. */
export function planIps(view: View, key: string): readonly ObjectReport[] {
  const { kind, name } = holderOf(key);
  const subject = kind?.ipSubject?.(view, name);
  if (subject === undefined) return [];
  const own = view.ports(key).filter(({ sharers }) => sharers[0] === key);
  return own.map((held) => planIp(view, held, subject));
}
