/** Causes with what to do, as every command shows them. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Paint, Tone } from './paint.ts';
import { renderSection } from './table.ts';

interface Shown extends Problem {
  readonly fix: string;
}

export function renderCauses(title: string, causes: readonly Shown[], tone: Tone, paint: Paint): readonly string[] {
  const lines = causes.flatMap(({ code, message, fix }) => [
    `${paint(code, tone)}: ${message}`,
    `  ${paint('fix:', 'faint')} ${fix}`,
  ]);
  return renderSection(title, lines, paint);
}

/** What could not be read, so that nobody takes silence for health. */
export function renderUnreadable(problems: readonly Problem[], paint: Paint): readonly string[] {
  return renderSection(
    'Not seen',
    problems.map(({ message }) => message),
    paint,
  );
}
