import type { Problem } from '../../../lib/desired/problem.ts';
import { checkMatch } from '../../../lib/ovn/match/check.ts';
import type { SubnetAcl, SubnetSpec } from '../../model/objects.ts';
import type { Capabilities } from '../../model/view.ts';

export interface CheckedAcl {
  readonly direction: 'from-lport' | 'to-lport';
  readonly priority: number;
  readonly match: string;
  readonly action: string;
}

interface Checked {
  readonly acls: readonly CheckedAcl[];
  /** One for each item that is left out. */
  readonly problems: readonly Problem[];
}

const actions = ['allow', 'allow-related', 'allow-stateless', 'drop', 'reject', 'pass'];
const maxPriority = 32_767;

/** Names of ports are quoted. */
function namesInport(match: string): boolean {
  return /\binport\b/.test(match.replaceAll(/"[^"]*"/g, ''));
}

/** The problem of an ACL, as the text after its place in the list: `.match: …`. */
function flawOf(
  { direction, priority, match, action }: SubnetAcl,
  { aclTier, shortKeys }: Capabilities,
): string | undefined {
  if (direction !== 'from-lport' && direction !== 'to-lport')
    return `.direction: '${direction}' is neither from-lport (what pods send) nor to-lport (what reaches them)`;
  if (!Number.isInteger(priority) || priority < 0 || priority > maxPriority)
    return `.priority: ${priority} is not between 0 and ${maxPriority}`;
  if (!actions.includes(action)) return `.action: '${action}' is none of ${actions.join(', ')}`;
  if (action === 'pass' && !aclTier)
    return `.action: pass needs an OVN with ACL tiers (23.06 and newer): use allow or drop`;
  if (match.trim() === '') return `.match: is empty: describe the traffic of the ACL, such as ip4.src == 10.16.0.0/16`;
  if (shortKeys === true && direction === 'to-lport' && namesInport(match))
    return '.match: names inport, which VXLAN does not carry to the node of the pod: match the sender by ip4.src or ip6.src';
  const problem = checkMatch(match, direction === 'from-lport' ? 'acl-from-lport' : 'acl-to-lport');
  return problem && `.match: ${problem.message}`;
}

function check(spec: SubnetSpec, capabilities: Capabilities): Checked {
  const acls: CheckedAcl[] = [];
  const problems: Problem[] = [];
  const seen = new Map<string, { readonly index: number; readonly action: string }>();
  for (const [index, acl] of spec.acls.entries()) {
    const { direction, priority, match, action } = acl;
    const id = [direction, priority, match].join('/');
    const twin = seen.get(id);
    const clash =
      twin !== undefined && twin.action !== action
        ? `: direction, priority and match are the same as in spec.acls[${twin.index}], whose action ${twin.action} applies: remove one`
        : undefined;
    const flaw = flawOf(acl, capabilities) ?? clash;
    if (flaw !== undefined)
      problems.push({ code: 'SetLogicalSwitchAclsFailed', message: `spec.acls[${index}]${flaw}` });
    else if (twin === undefined) {
      seen.set(id, { index, action });
      acls.push({ direction: direction as CheckedAcl['direction'], priority, match, action });
    }
  }
  return { acls, problems };
}

/** A spec is looked at with every count of its status, but checked once. */
const checked = new WeakMap<SubnetSpec, { readonly of: Capabilities; readonly result: Checked }>();

/** The ACLs of a spec that OVN can serve, and the problems of the others. */
export function readAcls(spec: SubnetSpec, capabilities: Capabilities): Checked {
  const known = checked.get(spec);
  if (known?.of === capabilities) return known.result;
  const result = check(spec, capabilities);
  checked.set(spec, { of: capabilities, result });
  return result;
}
