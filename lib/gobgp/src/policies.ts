import { canonicalAddress } from './address.ts';
import { canonicalPrefix } from './nlri.ts';

/** One rule of a policy; all conditions that are given must hold. */
export interface PolicyStatement {
  /** Unique among all statements of all policies. */
  readonly name: string;
  /** Name of a prefix set. */
  readonly prefixSet?: string;
  /** Name of a neighbour set; on export the neighbour is the receiver. */
  readonly neighborSet?: string;
  /** Only paths that came in through this API. */
  readonly isLocal?: boolean;
  readonly action: 'accept' | 'reject';
}

/** Everything about policies in one gobgpd. */
export interface RoutingPolicies {
  /** Exact prefixes, all of one family; never empty. */
  readonly prefixSets: Readonly<Record<string, readonly string[]>>;
  readonly neighborSets: Readonly<Record<string, readonly string[]>>;
  readonly policies: Readonly<Record<string, readonly PolicyStatement[]>>;
  readonly import: PolicyAssignment;
  readonly export: PolicyAssignment;
}

export interface PolicyAssignment {
  readonly policies: readonly string[];
  readonly otherwise: 'accept' | 'reject';
}

export interface DefinedSetMessage {
  readonly name: string;
  readonly list: readonly string[];
  readonly prefixes: readonly { readonly ip_prefix: string }[];
}

export interface PolicyMessage {
  readonly name: string;
  readonly statements: readonly {
    readonly name: string;
    readonly conditions?: {
      readonly prefix_set?: { readonly name: string } | null;
      readonly neighbor_set?: { readonly name: string } | null;
      readonly route_type?: string;
    } | null;
    readonly actions?: { readonly route_action: string } | null;
  }[];
}

export interface AssignmentMessage {
  readonly direction: string;
  readonly policies: readonly { readonly name: string }[];
  readonly default_action: string;
}

const globalTable = 'global';
const action = { accept: 'ACTION_ACCEPT', reject: 'ACTION_REJECT' } as const;

/** SetPolicies replaces all sets and policies, and keeps the assignments. @throws GobgpInvalidArgument */
export function policiesMessage(wanted: RoutingPolicies): object {
  return {
    defined_sets: [
      ...Object.entries(wanted.prefixSets).map(([name, prefixes]) => ({
        defined_type: 'DEFINED_PREFIX',
        name,
        prefixes: prefixes.map((prefix) => {
          const length = Number(prefix.slice(prefix.indexOf('/') + 1));
          return { ip_prefix: canonicalPrefix(prefix), mask_length_min: length, mask_length_max: length };
        }),
      })),
      ...Object.entries(wanted.neighborSets).map(([name, addresses]) => ({
        defined_type: 'DEFINED_NEIGHBOR',
        name,
        list: addresses.map(hostPrefix),
      })),
    ],
    policies: Object.entries(wanted.policies).map(([name, statements]) => ({
      name,
      statements: statements.map(statementMessage),
    })),
  };
}

export function assignmentMessage(direction: 'import' | 'export', assignment: PolicyAssignment): object {
  return {
    assignment: {
      name: globalTable,
      direction: direction === 'import' ? 'DIRECTION_IMPORT' : 'DIRECTION_EXPORT',
      policies: assignment.policies.map((name) => ({ name })),
      default_action: action[assignment.otherwise],
    },
  };
}

/** What gobgpd has, from the answers of its four list calls. */
export function policiesOfMessages(
  prefixSets: readonly DefinedSetMessage[],
  neighborSets: readonly DefinedSetMessage[],
  policies: readonly PolicyMessage[],
  assignments: readonly AssignmentMessage[],
): RoutingPolicies {
  const assignmentOf = (direction: string): PolicyAssignment => {
    const found = assignments.find((assignment) => assignment.direction === direction);
    return {
      policies: (found?.policies ?? []).map(({ name }) => name),
      otherwise: found?.default_action === action.reject ? 'reject' : 'accept',
    };
  };
  return {
    prefixSets: Object.fromEntries(
      prefixSets.map(({ name, prefixes }) => [name, prefixes.map((prefix) => prefix.ip_prefix)]),
    ),
    neighborSets: Object.fromEntries(
      neighborSets.map(({ name, list }) => [name, list.map((prefix) => prefix.replace(/\/\d+$/, ''))]),
    ),
    policies: Object.fromEntries(policies.map(({ name, statements }) => [name, statements.map(statementOf)])),
    import: assignmentOf('DIRECTION_IMPORT'),
    export: assignmentOf('DIRECTION_EXPORT'),
  };
}

/** Whether two policies decide alike; the order of set members and of the sets does not matter. */
export function isSamePolicies(left: RoutingPolicies, right: RoutingPolicies): boolean {
  return policiesFingerprint(left) === policiesFingerprint(right);
}

function policiesFingerprint(value: RoutingPolicies): string {
  const byName = <T, U>(record: Readonly<Record<string, T>>, map: (item: T) => U) =>
    Object.entries(record)
      .map(([name, item]) => [name, map(item)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    byName(value.prefixSets, (prefixes) => prefixes.map(canonicalPrefix).toSorted()),
    byName(value.neighborSets, (addresses) => addresses.map(canonicalAddress).toSorted()),
    byName(value.policies, (statements) =>
      statements.map((s) => [s.name, s.prefixSet ?? '', s.neighborSet ?? '', s.isLocal ?? false, s.action]),
    ),
    [value.import, value.export].map(({ policies, otherwise }) => [policies, otherwise]),
  ]);
}

function statementMessage(statement: PolicyStatement): object {
  return {
    name: statement.name,
    conditions: {
      ...(statement.prefixSet && { prefix_set: { type: 'MATCH_ANY', name: statement.prefixSet } }),
      ...(statement.neighborSet && { neighbor_set: { type: 'MATCH_ANY', name: statement.neighborSet } }),
      ...(statement.isLocal && { route_type: 'ROUTE_LOCAL' }),
    },
    actions: { route_action: action[statement.action] },
  };
}

function statementOf({ name, conditions, actions }: PolicyMessage['statements'][number]): PolicyStatement {
  return {
    name,
    ...(conditions?.prefix_set && { prefixSet: conditions.prefix_set.name }),
    ...(conditions?.neighbor_set && { neighborSet: conditions.neighbor_set.name }),
    ...(conditions?.route_type === 'ROUTE_LOCAL' && { isLocal: true }),
    action: actions?.route_action === action.accept ? 'accept' : 'reject',
  };
}

function hostPrefix(address: string): string {
  const canonical = canonicalAddress(address);
  return `${canonical}/${canonical.includes(':') ? 128 : 32}`;
}
