/** OpenFlow flows of a node. */
import { ovnProgram } from 'ovsdb-client/testing';
import { run } from '../../lab/run.ts';
import type { NodeName } from '../../system/service-bed.ts';
import type { ProbeBed } from './probe-bed.ts';

/** Flows of the integration bridge, without counters and cookies. */
export async function flowsOf({ services }: ProbeBed, node: NodeName): Promise<readonly string[]> {
  const bridge = `unix:${services.dir}/${node}/br-int.mgmt`;
  const text = await run([
    ovnProgram('ovs-ofctl'),
    '-O',
    'OpenFlow15',
    '--no-names',
    '--no-stats',
    'dump-flows',
    bridge,
  ]);
  return text.split('\n').flatMap((line) => {
    const flow = line.trim();
    return flow.includes('actions=') ? [flow.replace(/cookie=\w+, /, '')] : [];
  });
}
