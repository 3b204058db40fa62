/** Problems of a pod's requests other than addresses. */
import { annotation } from '../../../lib/api/names.ts';
import { permanentRefusals } from '../../../lib/api/pod-addresses.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { annotationOf, annotationValue, interfacesOf, listOf, wantsNetwork } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { groupProblem, groupsOf } from '../security-group/membership.ts';
import { mayHold } from '../vip/virtual-port.ts';
import { podDhcpProblems } from './dhcp.ts';
import { rateProblems } from './rates.ts';
import { routeProblem } from './routes.ts';

function invalid(network: Interface, key: string, what: string): Problem {
  return { code: 'InvalidAnnotation', message: `annotation ${annotationOf(network, key)} ${what}` };
}

function booleanProblem(pod: Pod, network: Interface, key: string): Problem | undefined {
  const text = annotationValue(pod, network, key);
  return ['', 'true', 'false'].includes(text) ? undefined : invalid(network, key, `is '${text}': use true or false`);
}

function vipProblems(view: View, pod: Pod, network: Interface): readonly (Problem | undefined)[] {
  const stray = listOf(annotationValue(pod, network, annotation.portVips)).find((text) => parseIp(text) === undefined);
  const missing = listOf(annotationValue(pod, network, annotation.addressPairs)).find((name) => {
    const vip = view.vips.get(name);
    return vip === undefined || !mayHold(vip, pod, network);
  });
  const key = annotationOf(network, annotation.addressPairs);
  return [
    stray === undefined ? undefined : invalid(network, annotation.portVips, `has '${stray}', which is not an address`),
    missing === undefined
      ? undefined
      : {
          code: 'VipNotFound',
          message: `annotation ${key}: Vip ${missing} does not exist, or is not for pods of this namespace`,
        },
  ];
}

function problemsOf(view: View, pod: Pod, network: Interface): readonly Problem[] {
  const list = annotationValue(pod, network, annotation.securityGroups);
  const { isGuarded, named } = groupsOf(view, pod, network);
  const isEmptyList = isGuarded && named.length === 0;
  const found = [
    isEmptyList ? invalid(network, annotation.securityGroups, `is '${list}', which names no group`) : undefined,
    booleanProblem(pod, network, annotation.portSecurity),
    booleanProblem(pod, network, annotation.defaultRoute),
    routeProblem(pod, network),
    ...rateProblems(pod, network),
    ...podDhcpProblems(pod, network),
    ...vipProblems(view, pod, network),
    groupProblem(view, pod, network),
  ];
  return found.filter((problem) => problem !== undefined);
}

/** All problems of a pod's annotations; those that only the user can resolve come first. */
export function portProblems(view: View, key: string): readonly Problem[] {
  const pod = view.pods.get(key);
  if (pod === undefined || !wantsNetwork(pod)) return [];
  const problems = (interfacesOf(pod, view.attachments) ?? []).flatMap((network) => problemsOf(view, pod, network));
  return problems.sort((a, b) => Number(permanentRefusals.has(b.code)) - Number(permanentRefusals.has(a.code)));
}

/** The problem that only an edit of the pod can resolve: waiting does not help. */
export function permanentProblem(view: View, key: string): Problem | undefined {
  const address = view.addressProblem(`pod/${key}`);
  return [...(address === undefined ? [] : [address]), ...portProblems(view, key)].find(({ code }) =>
    permanentRefusals.has(code),
  );
}
