/** Vips: addresses for pods to share or to move. */
import { defaultSubnet } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { Vip } from '../../../model/objects.ts';
import { vipPort } from '../../../model/ovn-names.ts';
import { satisfies } from '../claims.ts';
import type { Claimant, PortWant } from '../claims.ts';
import { parseAddresses } from '../port-request.ts';
import { recordOfVip } from '../records.ts';
import type { HolderKind, RecordedPort } from './kind.ts';

function vipRequest({ spec }: Vip): PortWant['request'] {
  const text = [spec.v4ip, spec.v6ip].filter((part) => part !== '').join(',');
  const addresses = text === '' ? undefined : parseAddresses(text);
  if (text !== '' && addresses === undefined) {
    return {
      problem: {
        code: 'InvalidAddress',
        message: `spec.v4ip, spec.v6ip: '${text}' is not at most one address of each family`,
      },
    };
  }
  const families = addresses?.map(({ family }) => family);
  return {
    value: {
      subnets: [spec.subnet === '' ? defaultSubnet : spec.subnet],
      ...(addresses && families ? { addresses, families } : {}),
      ...(spec.macAddress === '' ? {} : { mac: spec.macAddress.toLowerCase() }),
    },
  };
}

function vipClaimant(vip: Vip): Claimant {
  const { uid, createdMs, name } = vip;
  const want = { port: vipPort(name), interface: defaultInterface, request: vipRequest(vip) };
  return { uid, createdMs, name, holder: uid, wants: [want] };
}

/** Authors of a Vip can also write its status: it counts only where the spec requests the same. */
function vipRecord(vip: Vip): RecordedPort {
  const record = vip.isDeleting || !satisfies(vipRequest(vip), recordOfVip(vip)) ? undefined : recordOfVip(vip);
  return { name: vip.name, port: vipPort(vip.name), record };
}

export const vipHolder: HolderKind = {
  prefix: 'vip',
  all: (view) => view.vips.keys(),
  concerns: (change) => (change.kind === 'vips' ? [change.name] : []),
  claimant(view, name) {
    const vip = view.vips.get(name);
    return vip === undefined || vip.isDeleting ? undefined : vipClaimant(vip);
  },
  recorded: (view) => [...view.vips.values()].sort(byAge).map(vipRecord),
  // Pods may wait for the Vip whose address they use.
  notifies: 'waiting',
};
