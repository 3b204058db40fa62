/** Colours for terminals. A tone is the meaning of a word; output without colours loses no information. */

export type Tone = 'plain' | 'good' | 'bad' | 'doubtful' | 'faint' | 'strong';

export type Paint = (text: string, tone: Tone) => string;

const codes: Readonly<Record<Exclude<Tone, 'plain'>, number>> = {
  good: 32,
  bad: 31,
  doubtful: 33,
  faint: 2,
  strong: 1,
};

export function paintFor(isColoured: boolean): Paint {
  if (!isColoured) return (text) => text;
  return (text, tone) => (tone === 'plain' || text === '' ? text : `\u001B[${codes[tone]}m${text}\u001B[0m`);
}
