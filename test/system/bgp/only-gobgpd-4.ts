/** Skips tests of features that gobgpd 3 lacks if `ISTHMUS_GOBGPD=3` makes nodes run it. */
export function onlyGobgpd4(why: string): { readonly skip: string | false } {
  return { skip: process.env['ISTHMUS_GOBGPD'] === '3' && `gobgpd 3 ${why}` };
}
