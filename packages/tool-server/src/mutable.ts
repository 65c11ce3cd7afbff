/**
 * An interface as its implementation changes it. On the path of a call, state is a property of the object and not a getter: V8 keeps
 * an object literal that has a getter as a hash table, in which every access to it, also to its methods, is a search.
 */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
