import { canonicalPrefix } from './nlri.ts';
import { canonicalMember, type PolicyAssignment, type RoutingPolicies } from './policies.ts';
import {
  exactly,
  inexactly,
  routeAction,
  type StatementMessage,
  statementMessages,
  statementsOf,
} from './policy-statements.ts';

export interface DefinedSetMessage {
  readonly name: string;
  readonly list: readonly string[];
  readonly prefixes: readonly { readonly ip_prefix: string }[];
}

export interface PolicyMessage {
  readonly name: string;
  readonly statements: readonly StatementMessage[];
}

export interface AssignmentMessage {
  readonly direction: string;
  readonly policies: readonly { readonly name: string }[];
  readonly default_action: string;
}

/** Answers of gobgpd's list calls. */
export interface PoliciesAnswers {
  readonly prefixSets: readonly DefinedSetMessage[];
  readonly neighborSets: readonly DefinedSetMessage[];
  readonly largeCommunitySets: readonly DefinedSetMessage[];
  readonly policies: readonly PolicyMessage[];
  readonly assignments: readonly AssignmentMessage[];
}

const globalTable = 'global';

/** SetPolicies replaces all sets and policies, and keeps the assignments. @throws GobgpInvalidArgument */
export function policiesMessage(wanted: RoutingPolicies): object {
  const listSets = (type: string, sets: Readonly<Record<string, readonly string[]>>, map: (item: string) => string) =>
    Object.entries(sets).map(([name, items]) => ({ defined_type: type, name, list: items.map(map) }));
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
      ...listSets('DEFINED_NEIGHBOR', wanted.neighborSets, hostPrefix),
      ...listSets('DEFINED_LARGE_COMMUNITY', wanted.largeCommunitySets, exactly),
    ],
    policies: Object.entries(wanted.policies).map(([name, statements]) => ({
      name,
      statements: statements.flatMap(statementMessages),
    })),
  };
}

export function assignmentMessage(direction: 'import' | 'export', assignment: PolicyAssignment): object {
  return {
    assignment: {
      name: globalTable,
      direction: direction === 'import' ? 'DIRECTION_IMPORT' : 'DIRECTION_EXPORT',
      policies: assignment.policies.map((name) => ({ name })),
      default_action: routeAction[assignment.otherwise],
    },
  };
}

/** The policies in gobgpd. */
export function policiesOfMessages(answers: PoliciesAnswers): RoutingPolicies {
  const assignmentOf = (direction: string): PolicyAssignment => {
    const found = answers.assignments.find((assignment) => assignment.direction === direction);
    return {
      policies: (found?.policies ?? []).map(({ name }) => name),
      otherwise: found?.default_action === routeAction.reject ? 'reject' : 'accept',
    };
  };
  return {
    prefixSets: Object.fromEntries(
      answers.prefixSets.map(({ name, prefixes }) => [name, prefixes.map((prefix) => prefix.ip_prefix)]),
    ),
    neighborSets: Object.fromEntries(
      answers.neighborSets.map(({ name, list }) => [name, list.map((prefix) => prefix.replace(/\/\d+$/, ''))]),
    ),
    largeCommunitySets: Object.fromEntries(
      answers.largeCommunitySets.map(({ name, list }) => [name, list.map(inexactly)]),
    ),
    policies: Object.fromEntries(answers.policies.map(({ name, statements }) => [name, statementsOf(statements)])),
    import: assignmentOf('DIRECTION_IMPORT'),
    export: assignmentOf('DIRECTION_EXPORT'),
  };
}

function hostPrefix(address: string): string {
  const canonical = canonicalMember(address);
  return `${canonical}/${canonical.includes(':') ? 128 : 32}`;
}
