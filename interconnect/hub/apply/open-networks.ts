/**
 * The networks as a hub finds them at its start: its own by its flags, the others from IC-NB, and missing rows there
 * from the ports of members.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { hubSwitch } from '../../../lib/api/names.ts';
import { HubStateError } from '../model/errors.ts';
import { cidrsOfPorts } from '../settle/attachments.ts';
import { mostPaths, switchNames } from '../../model/path-names.ts';
import { checkCidrs, pathCidr } from '../model/paths.ts';
import { Networks } from '../settle/networks.ts';
import { PathRows, type PathTarget } from './path-rows.ts';
import type { MemberRecord, NetworkDefinition } from '../model/record.ts';
import { readDatapath, readForeignSwitch, readNetworks, type FoundNetwork } from '../watch/databases.ts';

export interface OpenNetworksOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly transitCidrs: readonly string[];
  readonly paths: number;
  /** For rows of IC-NB. */
  readonly switches: PathTarget;
  /** For rows of IC-SB. */
  readonly rows: PathTarget;
  readonly records: ReadonlyMap<string, MemberRecord>;
}

/** @throws HubStateError when the hub's own network cannot match the flags */
export function openNetworks(options: OpenNetworksOptions): Networks {
  const { cache } = options.southbound;
  const found = readNetworks(options.northbound.cache, cache);
  const datapathOf = (pathSwitch: string) => readDatapath(cache, pathSwitch);
  const rows = new PathRows({ northbound: options.switches, southbound: options.rows, datapathOf });
  const networks = new Networks({
    standard: checkStandard(options, found),
    datapathOf,
    onNetwork: (network) => rows.set(network),
    onGone: (pathSwitch) => rows.drop(pathSwitch),
    isKeyTaken: (tunnelKey) => cache.table('Datapath_Binding').byIndex(['tunnel_key'], [tunnelKey]).length > 0,
  });
  restore(networks, found, options.records);
  return networks;
}

function restore(networks: Networks, found: readonly FoundNetwork[], records: ReadonlyMap<string, MemberRecord>): void {
  const { standard } = networks;
  networks.put(standard, found.find(({ definition }) => definition.name === standard.name)?.paths);
  for (const { definition, paths } of found) if (definition.name !== standard.name) networks.put(definition, paths);
  for (const { attachments } of records.values()) {
    for (const { network: name, ports } of attachments) {
      const cidrs = networks.get(name) === undefined ? cidrsOfPorts(name, ports) : undefined;
      const paths = Math.max(...ports.map(({ index }) => index + 1), 1);
      if (cidrs !== undefined) networks.put({ name, cidrs, definedBy: '', clusters: [], paths });
    }
  }
}

function checkStandard(
  { transitCidrs, paths, northbound }: OpenNetworksOptions,
  found: readonly FoundNetwork[],
): NetworkDefinition {
  const name = hubSwitch;
  const cidrs = checkCidrs(transitCidrs);
  if (typeof cidrs === 'string') throw new HubStateError(`--transit-cidr: ${cidrs}`);
  if (cidrs.length === 0) throw new HubStateError('--transit-cidr is empty; write for example 100.100.0.0/16');
  if (paths < 1 || paths > mostPaths)
    throw new HubStateError(`--paths ${paths}: write a number from 1 to ${mostPaths}`);
  const has = found.find(({ definition }) => definition.name === name)?.definition.cidrs.join(',');
  if (has !== undefined && has !== cidrs.join(','))
    throw new HubStateError(
      `transit switch ${name} has ${has}, --transit-cidr is ${cidrs.join(',')}; members keep their addresses: start with ${has}, or let all members leave and delete the switch`,
    );
  for (const [index, pathSwitch] of switchNames(name).slice(0, paths).entries()) {
    const subnet = readForeignSwitch(northbound.cache, pathSwitch);
    const wanted = cidrs.map((cidr) => pathCidr(cidr, index)).join(',');
    if (subnet === undefined || subnet === '' || subnet === wanted) continue;
    throw new HubStateError(
      `transit switch ${pathSwitch}, which this hub did not make, has ${subnet}, where --transit-cidr ${cidrs.join(',')} has ${wanted}; choose a --transit-cidr that fits, or delete the switch`,
    );
  }
  return { name, cidrs, definedBy: '', clusters: [], paths };
}
