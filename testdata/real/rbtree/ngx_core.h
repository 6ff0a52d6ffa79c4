#pragma once
#include <ngx_rbtree.h>
#include <ngx_queue.h>
