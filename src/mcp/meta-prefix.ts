/** Our own keys of `_meta` begin with it. */
export const META_PREFIX = 'io.asyncgate/'
