import { keyOf } from '../../lib/kube/resources.ts';
import type { ObjectName } from '../../lib/kube/types.ts';
import { CommandFailed } from '../command/failure.ts';

/** `kind` as kubectl has it. */
export function missing(kind: string, name: ObjectName): CommandFailed {
  const where = name.namespace === undefined ? '' : ` -n ${name.namespace}`;
  const message = `there is no ${kind} ${keyOf(name)}; kubectl get ${kind}s${where} lists them`;
  const code = kind.replace(/(?:^|-)[a-z]/g, (start) => start.slice(-1).toUpperCase());
  return new CommandFailed({ code: `NoSuch${code}`, message });
}
