import { ChangeKind as ChangeNumber, CounterField } from "../gen/wirescope/v1/timeline_pb.js";
import type { ChangeKind } from "./changes.js";
import type { Counters } from "./counters.js";

/** Converts between the names in this package and the numbers of an enum in the schema. */
interface EnumNames<Name extends string, Value extends number> {
  numberOf(name: Name): Value;
  /** The name for a number; the first name if the number is unknown. */
  nameOf(value: number): Name;
}

function enumNames<Name extends string, Value extends number>(
  table: Readonly<Record<Name, Value>>,
): EnumNames<Name, Value> {
  const names = Object.keys(table) as Name[];
  return {
    numberOf: (name) => table[name],
    nameOf: (value) => names.find((name) => table[name] === value) ?? (names[0] as Name),
  };
}

export const counterNumbers: EnumNames<keyof Counters, CounterField> = enumNames({
  started: CounterField.STARTED,
  succeeded: CounterField.SUCCEEDED,
  failed: CounterField.FAILED,
  messagesSent: CounterField.MESSAGES_SENT,
  messagesReceived: CounterField.MESSAGES_RECEIVED,
  keepAlivesSent: CounterField.KEEP_ALIVES_SENT,
});

export const changeKinds: EnumNames<ChangeKind, ChangeNumber> = enumNames({
  appeared: ChangeNumber.APPEARED,
  disappeared: ChangeNumber.DISAPPEARED,
  state: ChangeNumber.STATE,
  trace: ChangeNumber.TRACE,
  restarted: ChangeNumber.RESTARTED,
  origin: ChangeNumber.ORIGIN,
});
