"use strict";

/*
 * Run-length coding of text: a run of equal characters becomes its length and
 * the character. Digits and backslashes of the text are escaped by a backslash,
 * so that decoding never has to guess.
 */

/** Encode a text; runs of one are written without a count. */
function encode(text) {
  const characters = Array.from(text); // by code point, not by UTF-16 unit
  let result = "";
  let start = 0;
  while (start < characters.length) {
    const character = characters[start];
    let end = start + 1;
    while (end < characters.length && characters[end] === character) end += 1;
    const length = end - start;
    const shown = /[0-9\\]/.test(character) ? "\\" + character : character;
    result += length > 1 ? String(length) + shown : shown;
    start = end;
  }
  return result;
}

/** Undo encode; throws an Error when the text ends in the middle of a run. */
function decode(code) {
  const characters = Array.from(code);
  let result = "";
  let count = "";
  for (let i = 0; i < characters.length; i += 1) {
    let character = characters[i];
    if (/[0-9]/.test(character)) {
      count += character;
      continue;
    }
    if (character === "\\") {
      i += 1;
      if (i === characters.length) throw new Error("the code ends after a backslash");
      character = characters[i];
    }
    result += character.repeat(count === "" ? 1 : Number(count));
    count = "";
  }
  if (count !== "") throw new Error(`the code ends after the count ${count}`);
  return result;
}

for (const text of ["wwwwbbbw", "no runs", "77777 and \\\\", "", "~~~~~~~~~~>"]) {
  const code = encode(text);
  const verdict = decode(code) === text ? "ok" : "DIFFERENT";
  console.log(`${JSON.stringify(text)} -> ${JSON.stringify(code)} ${verdict}`);
}
