/** One key in, its rows out: the features' plans by the first part of the key. Called by `apply/` for each dirty key. */
import { defaultVpc } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { planGateway } from './gateway.ts';
import { planNode } from './node.ts';
import { planPod } from './pod.ts';
import { planSubnet } from './subnet.ts';
import type { View } from './view.ts';
import { planVpc } from './vpc.ts';

export const nothing: Desired = { rows: [] };

/** Rows and contributions of `feature/key`; nothing for features without rows. */
export function planKey(view: View, key: string): Desired {
  const [feature, first = '', second = ''] = key.split('/', 3);
  if (feature === 'pod') return planPod(view, `${first}/${second}`);
  if (feature === 'node') return planNode(view, first);
  if (feature === 'gateway') return planGateway(view, first, second);
  if (feature === 'subnet') return planSubnet(view, first);
  if (feature === 'vpc' && first === defaultVpc) return planVpc(view);
  return nothing;
}
