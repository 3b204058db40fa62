/** Renders as text how a client reaches a Service or a SwitchLBRule. Pure. */
import type { AddressAnswer, EndpointAnswer, ServiceWhy } from '../../plan/service/why.ts';
import { few } from '../bgp/few.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';

/** Maximum number of endpoints; `-o json` prints all. */
const mostEndpoints = 50;

export function renderServiceWhy(why: ServiceWhy, paint: Paint): string {
  const verdict = why.isServed ? paint('reached', 'good') : paint('not reached', 'bad');
  const lines = [
    `${subjectOf(why)} is ${verdict} from ${why.client}`,
    ...(why.vpc === '' ? [] : [`  Vpc ${why.vpc}: ${why.vpcFrom}`]),
    ...renderSection(
      why.isServed ? 'To know' : 'Obstacles',
      why.problems.map(({ code, message }) => `${paint(code, why.isServed ? 'doubtful' : 'bad')}: ${message}`),
      paint,
    ),
    ...renderSection('Addresses', addressTable(why.addresses, paint), paint),
    ...renderSection('Endpoints', endpointTable(why.endpoints, paint), paint),
    ...renderSection(
      'Conditions',
      renderTable(
        ['TYPE', 'STATUS', 'REASON', 'MESSAGE'],
        why.conditions.map(({ type, status, reason, message }) => [
          type,
          toned(status, status === 'True' ? 'good' : 'bad'),
          reason,
          message,
        ]),
        paint,
      ),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function subjectOf({ rule, service, type }: ServiceWhy): string {
  return rule === undefined ? `Service ${service} (${type})` : `SwitchLBRule ${rule} (Service ${service})`;
}

function addressTable(addresses: readonly AddressAnswer[], paint: Paint): readonly string[] {
  const rows = addresses.map(
    ({ kind, address, port, protocol, through, holder, endpoints, healthCheck }): readonly Cell[] => [
      address === '' ? 'each node' : address,
      `${port}/${protocol}`,
      kind,
      through ?? toned(holder === undefined ? 'nothing serves it' : `${holder} has it`, 'bad'),
      healthCheck,
      endpoints.length === 0 ? toned('none', 'bad') : few(endpoints, 'endpoints'),
    ],
  );
  return renderTable(['ADDRESS', 'PORT', 'KIND', 'THROUGH', 'HEALTH CHECK', 'ENDPOINTS'], rows, paint);
}

function endpointTable(endpoints: readonly EndpointAnswer[], paint: Paint): readonly string[] {
  const rows = endpoints
    .slice(0, mostEndpoints)
    .map(({ port, endpoint, node, pod, state, check, isServing, why }): readonly Cell[] => [
      port,
      endpoint,
      node,
      pod,
      toned(state, state === 'ready' ? 'good' : 'doubtful'),
      checkCell(check),
      isServing ? toned('yes', 'good') : toned('no', 'doubtful'),
      why,
    ]);
  const left = endpoints.length - rows.length;
  const table = renderTable(['PORT', 'ENDPOINT', 'NODE', 'POD', 'STATE', 'CHECK', 'SERVES', 'WHY NOT'], rows, paint);
  return left > 0 ? [...table, `and ${left} more; -o json has all`] : table;
}

function checkCell(check: EndpointAnswer['check']): Cell {
  if (check === undefined) return undefined;
  const { state, reason } = check;
  return toned(reason === undefined ? state : `${state} (${reason})`, state === 'Online' ? 'good' : 'doubtful');
}
