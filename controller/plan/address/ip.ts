import type { Feature } from '../feature.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { View } from '../../model/view.ts';
import { addressEvents, reportReleased } from './report.ts';

function reportIp(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const events = view.ips.has(name) ? addressEvents(view, `ip/${name}`, outcome) : [];
  return [{ ...reportReleased(view, name, outcome), events }];
}

/** IP objects have no rows. Those of ports are reported by the owners of the ports, until the port is gone. */
export const ipFeature: Feature = {
  name: 'ip',
  all: (view) => view.ips.keys(),
  reads({ kind, name }) {
    if (kind === 'ports') return name.startsWith('ip/') ? [name.slice('ip/'.length)] : [];
    return kind === 'ips' || kind === 'freed' ? [name] : [];
  },
  report: reportIp,
};
