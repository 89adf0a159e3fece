/** For the facades, which do not reach into the store. */
export { nextTurn } from '../store/turns.ts'
