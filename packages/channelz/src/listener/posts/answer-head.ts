import { type OutgoingHttpHeaders, STATUS_CODES, validateHeaderName } from "node:http";
import { httpDate } from "./http-date.js";

/** What an answer says before its body. */
export interface AnswerHead {
  readonly text: string;
  /** Whether the body comes in chunks. */
  readonly isChunked: boolean;
  /** Whether the connection ends with the answer. */
  readonly isLast: boolean;
}

/** The same in every encoding. */
const isHeaderValue = /^[\t\x20-\x7e]*$/;

/** The head of an answer whose body has so many bytes, or, where that is not known, is sent in parts. Throws a TypeError for what it cannot carry. */
export function answerHead(
  statusCode: number,
  headers: OutgoingHttpHeaders,
  bodyBytes: number | undefined,
): AnswerHead {
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 999) {
    throw new TypeError(`No answer has the status ${statusCode}. Use one from 200 to 599.`);
  }
  let text = `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ""}\r\n`;
  let hasLength = isBodiless(statusCode);
  let hasDate = false;
  let isLast = false;
  for (const given in headers) {
    const name = given.toLowerCase();
    const value = String(headers[given] ?? "");
    validateHeaderName(name);
    if (!isHeaderValue.test(value)) throw new TypeError(`The header ${name} has characters that it cannot carry.`);
    // How its parts are told apart is not for who answers to say; nor how long it is, where that is known.
    if (name === "transfer-encoding") continue;
    if (name === "content-length") {
      if (bodyBytes !== undefined) continue;
      hasLength = true;
    }
    if (name === "connection") isLast = /\bclose\b/i.test(value);
    if (name === "date") hasDate = true;
    text += `${name}: ${value}\r\n`;
  }
  const isChunked = !hasLength && bodyBytes === undefined;
  if (isChunked) text += "transfer-encoding: chunked\r\n";
  else if (!hasLength) text += `content-length: ${bodyBytes}\r\n`;
  if (!hasDate) text += `date: ${httpDate()}\r\n`;
  return { text: `${text}\r\n`, isChunked, isLast };
}

/** Whether whoever reads it takes what follows the head for the next answer, whatever the head says. */
export function isBodiless(statusCode: number): boolean {
  return statusCode === 204 || statusCode === 304;
}
