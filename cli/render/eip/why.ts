/** Renders the explanation of an OvnEip. Pure. */
import type { EipWhy } from '../../plan/eip/why.ts';
import { renderCauses } from '../causes.ts';
import type { Paint } from '../paint.ts';
import { inLine } from '../printable.ts';
import { renderSection, renderTable, toned } from '../table.ts';

const heads = ['RULE', 'VPC', 'INSIDE', 'READY', 'NODE', 'MESSAGE'];

export function renderEipWhy(why: EipWhy, paint: Paint): string {
  const { eip, addresses, subnet, isServed, rules, limits, reachedBy, obstacles, warnings } = why;
  const verdict = isServed ? paint('is served', 'good') : paint('is not served', 'bad');
  const what = addresses.length === 0 ? 'no address' : addresses.join(', ');
  const rows = rules.map(({ rule, vpc, does, isReady, node, message }) => [
    rule,
    vpc,
    does,
    isReady ? toned('yes', 'good') : toned('no', 'bad'),
    node === '' ? toned('none', 'bad') : (node ?? ''),
    message,
  ]);
  const { arp, bgp } = reachedBy;
  const ways = [
    arp === undefined
      ? 'ARP: not known, OVN was not asked'
      : `ARP: ${arp.length === 0 ? 'nothing announced' : arp.join('; ')}`,
    bgp === undefined ? 'BGP: no BgpPeer' : `BGP: ${bgp.length === 0 ? 'announced to no router' : bgp.join(', ')}`,
  ];
  const lines = [
    `${paint(`OvnEip ${inLine(eip)}`, 'strong')} (${inLine(what)} of Subnet ${inLine(subnet)}) ${verdict}`,
    ...renderCauses('Obstacles', obstacles, 'bad', paint),
    ...renderCauses('Warnings', warnings, 'doubtful', paint),
    ...renderSection('Rules', renderTable(heads, rows, paint), paint),
    ...(limits.length === 0 ? [] : renderSection('Limits', limits.map(inLine), paint)),
    ...renderSection('Reached by', ways.map(inLine), paint),
  ];
  return `${lines.join('\n')}\n`;
}
