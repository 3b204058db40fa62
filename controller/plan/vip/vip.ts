import type { Pod } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { reportVip } from './status.ts';
import { mayHoldSomewhere, vipsNear, virtualPorts } from './virtual-port.ts';

function* vipsOfPod(view: View, pod: Pod | undefined): Generator<string> {
  if (pod === undefined) return;
  for (const vip of vipsNear(view, pod)) if (mayHoldSomewhere(vip, pod)) yield vip.name;
}

/** Vips of load balancers in a subnet. The subnet determines whether their addresses are answered. */
function* balancersIn(view: View, subnet: string): Generator<string> {
  for (const key of view.keysIn(subnet)) {
    const name = key.startsWith('vip/') ? key.slice('vip/'.length) : '';
    if (view.vips.get(name)?.spec.type === 'switch_lb_vip') yield name;
  }
}

/** A Vip: its rows are the ports that the address moves between. The allocator settles the address. */
export const vipFeature: Feature = {
  name: 'vip',
  all: (view) => view.vips.keys(),
  *reads(change, view) {
    if (change.kind === 'vips') yield change.name;
    else if (change.kind === 'verdicts') yield* balancersIn(view, change.name);
    else if (change.kind === 'pods') {
      yield* vipsOfPod(view, change.before);
      yield* vipsOfPod(view, change.after);
    } else if (change.kind === 'ports' && change.name.startsWith('vip/')) yield change.name.slice('vip/'.length);
    else if (change.kind === 'ports' && change.name.startsWith('pod/'))
      yield* vipsOfPod(view, view.pods.get(change.name.slice('pod/'.length)));
  },
  plan: (view, name) => ({ rows: virtualPorts(view, name) }),
  report: reportVip,
};
