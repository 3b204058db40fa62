import { label } from '../../../lib/api/names.ts';
import type { IpObject } from '../../model/objects.ts';
import type { HeldPort, View } from '../../model/view.ts';
import type { IpSubject } from '../../settle/address/holders/kind.ts';
import { holderOf } from '../../settle/address/holders/registry.ts';
import type { Feature } from '../feature.ts';
import { addressText } from './texts.ts';

export interface WantedIp {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: IpObject['spec'] & {
    readonly attachSubnets: readonly string[];
    readonly attachIps: readonly string[];
    readonly attachMacs: readonly string[];
    readonly containerID: string;
  };
}

/** The IP object of a port. */
function planIp(view: View, { port, allocation }: HeldPort, subject: IpSubject): WantedIp {
  const { subnet, mac, v4 = '', v6 = '' } = allocation;
  const isReserved = view.ips.get(port)?.labels[label.ipReserved] ?? 'false';
  // A label's value has at most 63 characters, a node's name may have more.
  const nodeLabel = subject.nodeName.length > 63 ? {} : { [label.nodeName]: subject.nodeName };
  return {
    name: port,
    labels: { [label.subnet]: subnet, ...nodeLabel, [subnet]: '', [label.ipReserved]: isReserved },
    spec: {
      ...subject,
      subnet,
      ipAddress: addressText(allocation),
      v4IpAddress: v4,
      v6IpAddress: v6,
      macAddress: mac,
      attachSubnets: [],
      attachIps: [],
      attachMacs: [],
      containerID: '',
    },
  };
}

/** IP objects of the ports of a key; none while it has no address, or where its kind has no IP objects of its own. */
export function planIps(view: View, key: string): readonly WantedIp[] {
  const { kind, name } = holderOf(key);
  const subject = kind?.ipSubject?.(view, name);
  if (subject === undefined) return [];
  const own = view.ports(key).filter(({ sharers }) => sharers[0] === key);
  return own.map((held) => planIp(view, held, subject));
}

/** IP objects are told, not planned: the port they are about is looked at when somebody changes one. */
export const ipFeature: Feature = {
  name: 'ip',
  all: (view) => view.ips.keys(),
  reads({ kind, name }) {
    if (kind === 'ports') return name.startsWith('ip/') ? [name.slice('ip/'.length)] : [];
    return kind === 'ips' || kind === 'freed' ? [name] : [];
  },
};
