import type { AnswerFacts, WalkFacts } from "../facts.js";

/** An answer in a line or two. */
export function answerEvidence(answer: AnswerFacts): string[] {
  const { method, path, status, mediaType, title, excerpt, location } = answer;
  const type = mediaType === "" ? "" : ` (${mediaType})`;
  const page = title === undefined ? "" : `, a page${title === "" ? "" : ` titled ${JSON.stringify(title)}`}`;
  const leads = location === undefined ? "" : `, which leads to ${location}`;
  const said = title !== undefined || excerpt === "" ? [] : [`It said: ${excerpt}`];
  return [`${method} ${path} was answered with ${status}${type}${page}${leads}.`, ...said];
}

/** The answer that refused. */
export function refusalEvidence({ attempt }: WalkFacts): string[] {
  if (attempt?.answer === undefined)
    return attempt?.refusal === undefined ? [] : [`It answered ${attempt.refusal.status}.`];
  const { error, description } = attempt.refusal?.challenge ?? {};
  const says = [error, description].filter(Boolean).join(": ");
  return [...answerEvidence(attempt.answer), ...(says === "" ? [] : [`Its challenge says: ${says}`])];
}
