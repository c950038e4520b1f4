#!/bin/sh
echo "ok - hello"
echo 1..1
