import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { annotationOf, annotationValue } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';

const example = '[{"dst":"10.9.0.0/16","gw":"10.16.0.9"}]';

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function wrongRoute(route: unknown): string | undefined {
  const { dst, gw } = (typeof route === 'object' && route !== null ? route : {}) as Readonly<Record<string, unknown>>;
  if (typeof dst !== 'string' || typeof gw !== 'string') return `has a route without dst or gw`;
  const destination = parseCidr(dst) ?? parseIp(dst);
  const gateway = parseIp(gw);
  if (destination === undefined) return `has dst '${dst}', which is not a CIDR or address`;
  return gateway?.family === destination.family
    ? undefined
    : `has gw '${gw}', which is not an address of the family of dst ${dst}`;
}

/** Problems of the routes of an interface, which the node's daemon configures. */
export function routeProblem(pod: Pod, network: Interface): Problem | undefined {
  const text = annotationValue(pod, network, annotation.routes);
  if (text === '') return undefined;
  const routes = parseList(text);
  const wrong =
    routes === undefined
      ? `must be a JSON list such as ${example}, not '${text}'`
      : routes.map(wrongRoute).find((one) => one);
  if (wrong === undefined) return undefined;
  return { code: 'InvalidAnnotation', message: `annotation ${annotationOf(network, annotation.routes)} ${wrong}` };
}
