/**
 * An interface whose properties the implementation can assign. On the path of a call, state is a property and not a getter: V8 stores
 * an object literal with a getter as a hash table, in which every access, even to a method, is a lookup.
 */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
