import type { Terminal, ExitCode } from '../../command/command.ts';
import type { RuleReading, ServiceReading } from '../../model/service-reading.ts';
import { explainRule } from '../../plan/service/rule.ts';
import { explainService } from '../../plan/service/why.ts';
import { renderServiceWhy } from '../../render/service/why.ts';
import { print } from '../bgp/answer.ts';

/** Prints the explanation of what was read. Exit code 1 if no address leads to an endpoint. */
export function answer(
  reading: ServiceReading | RuleReading,
  flags: Parameters<typeof print>[2],
  terminal: Terminal,
): ExitCode {
  const why = 'rule' in reading ? explainRule(reading) : explainService(reading);
  print(why, (paint) => renderServiceWhy(why, paint), flags, terminal);
  return why.isServed ? 0 : 1;
}
