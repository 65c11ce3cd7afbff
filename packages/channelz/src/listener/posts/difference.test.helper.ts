import { isDeepStrictEqual } from "node:util";
import { cut, type Sent } from "./post-bytes.test.helper.js";
import {
  answered,
  type Echo,
  type Heard,
  headOf,
  openCaller,
  quiet,
  sendInPieces,
  type Told,
} from "./two-ways.test.helper.js";

/** What the same bytes led to, past Node's server and through it. */
export interface Outcome {
  readonly direct: Heard;
  readonly throughNode: Heard;
  /** The heads of what Node's parser found. */
  readonly begun: readonly string[];
}

const patienceMs = 5000;

/** How two listeners answer the same differently, if they do. */
export async function difference(direct: Echo, throughNode: Echo, sent: Sent): Promise<Outcome | undefined> {
  const { right, last, cuts, isPatient, ends } = sent;
  const callers = await Promise.all([openCaller(direct.listener), openCaller(throughNode.listener)]);
  const outcome = (): Outcome => ({
    direct: callers[0].heard(),
    throughNode: callers[1].heard(),
    begun: throughNode.begun.get(callers[1].port) ?? [],
  });
  try {
    if (isPatient) {
      for (const [index, request] of right.entries()) {
        await sendInPieces(callers, cut(request, cuts));
        await answered(callers, index + 1);
      }
      await sendInPieces(callers, cut(last, cuts));
    } else await sendInPieces(callers, cut(Buffer.concat([...right, last]), cuts));
    if (ends) for (const caller of callers) caller.end();
    await quiet(callers);
    for (const deadline = performance.now() + patienceMs; !isSame(sent, outcome()); ) {
      if (performance.now() > deadline) return outcome();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return undefined;
  } finally {
    for (const caller of callers) caller.destroy();
    for (const [index, { begun }] of [direct, throughNode].entries()) begun.delete(callers[index]?.port ?? 0);
  }
}

/**
 * Where Node's server finds a mistake it says so at once, and loses the answers that are due: those may be there the other way, but
 * only to requests that Node's parser has found too. So it is with the end of a caller. One that asks for more while an answer is due
 * may lose others.
 */
function isSame({ right, last, isPatient, ends }: Sent, { direct, throughNode, begun }: Outcome): boolean {
  if (direct.isClosed !== throughNode.isClosed) return false;
  if (isDeepStrictEqual(direct.answers, throughNode.answers)) return true;
  if (!direct.isClosed) return false;
  const [ours, theirs] = [withoutErrors(direct.answers), withoutErrors(throughNode.answers)];
  const common = Math.min(ours.length, theirs.length);
  if (!isDeepStrictEqual(ours.slice(0, common), theirs.slice(0, common))) return false;
  const heads = ours.filter(({ status }) => status === 200).map(({ body }) => headOf(JSON.parse(body)));
  if (!isDeepStrictEqual(heads, begun.slice(0, heads.length))) return false;
  const isEarly = ends && [...right, last].some((request) => request.includes("x-how: later"));
  if (!isPatient || isEarly || direct.isReset || throughNode.isReset) return true;
  // Past Node's server, what is behind an answer that is the last is not looked at.
  const isLast = last.includes("x-how: last");
  const [ourError, theirError] = [direct.answers[ours.length], throughNode.answers[theirs.length]];
  return ours.length >= theirs.length && (ends || isLast || ourError?.status === theirError?.status);
}

function withoutErrors(answers: readonly Told[]): readonly Told[] {
  return answers.slice(0, answers.findLastIndex(({ status }) => status < 400) + 1);
}
